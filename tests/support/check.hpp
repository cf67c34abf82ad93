/* Assertions of the tests in C++. */
#ifndef DTP_TESTS_CHECK_HPP
#define DTP_TESTS_CHECK_HPP

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

#include "dnnl_tp/dnnl_tp.hpp"

/* The expression throws this status with a text, or, for success, nothing. */
#define ASSERT_STATUS(expected, expression)         \
    do {                                            \
        dnnl_tp_status_t got_ = dnnl_tp_success;    \
        try {                                       \
            expression;                             \
        } catch (const dnnl_tp::error &e) {         \
            got_ = e.status();                      \
            assert_true(std::strlen(e.what()) > 0); \
        }                                           \
        assert_int_equal(got_, expected);           \
    } while (0)

#endif
