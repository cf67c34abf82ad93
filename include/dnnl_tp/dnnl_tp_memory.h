/** @file
 * Memory descriptors (shape, data type and layout of a tensor) and memory objects (a descriptor
 * with a buffer).
 *
 * Included by dnnl_tp.h, which also states the rules for every call. In a blocked layout the
 * address of element (p[0], ..., p[n-1]), in elements, is the sum over d of (p[d] / blk[d]) *
 * strides[d], where blk[d] is the product of the inner blocks of d, plus the position inside the
 * inner blocks, which are dense and of which the last one in the list varies fastest. Elements
 * between dims and padded_dims are zero. Layouts and formulas: oneDNN v3. */
#ifndef DNNL_TP_MEMORY_H
#define DNNL_TP_MEMORY_H

#include "dnnl_tp/dnnl_tp_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Memory descriptors ---------------------------------------------------------------------- */

/** Creates a descriptor with the layout of a tag. Thread-safe.
 *
 * @param[out] memory_desc owned by the caller; NULL on failure
 * @param ndims 0 to DNNL_TP_MAX_NDIMS; 0 makes the zero descriptor (no tensor)
 * @param dims ndims sizes in elements, >= 0, or DNNL_TP_RUNTIME_DIM_VAL
 * @param data_type type of an element
 * @param tag a layout of ndims letters; dnnl_tp_format_tag_any = the implementation chooses (not
 *     with run-time dimensions); dnnl_tp_format_tag_undef makes the zero descriptor
 * @return success; invalid_arguments (ndims, a size, the type or the tag does not fit, or the sizes
 *     overflow); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_create_with_tag(
    dnnl_tp_memory_desc_t *memory_desc, int ndims, const dnnl_tp_dims_t dims,
    dnnl_tp_data_type_t data_type, dnnl_tp_format_tag_t tag);

/** Creates a descriptor of a plain strided layout. Thread-safe.
 *
 * @param[out] memory_desc owned by the caller; NULL on failure
 * @param ndims 0 to DNNL_TP_MAX_NDIMS
 * @param dims ndims sizes in elements, >= 0, or DNNL_TP_RUNTIME_DIM_VAL
 * @param data_type type of an element
 * @param strides ndims strides in elements; 0 repeats an element; NULL = dense row-major
 * @return success; invalid_arguments (as create_with_tag; negative or overlapping strides);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_create_with_strides(
    dnnl_tp_memory_desc_t *memory_desc, int ndims, const dnnl_tp_dims_t dims,
    dnnl_tp_data_type_t data_type, const dnnl_tp_dims_t strides);

/** Creates a descriptor of a host scalar: one element inside the memory object itself
 * (dnnl_tp_memory_create_host_scalar()), for scales and zero points whose attribute sets
 * is_on_host. Thread-safe.
 *
 * @param[out] memory_desc owned by the caller; NULL on failure
 * @param data_type type of the element, which primitives can compute
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_create_host_scalar(
    dnnl_tp_memory_desc_t *memory_desc, dnnl_tp_data_type_t data_type);

/** Creates a descriptor of a rectangular window of a tensor. Use it with the handle of the parent,
 * because it addresses the parent's buffer. Thread-safe.
 *
 * @param[out] memory_desc owned by the caller; NULL on failure
 * @param parent_memory_desc a blocked layout
 * @param dims sizes of the window
 * @param offsets first element of the window in each dimension
 * @return success; invalid_arguments (the window is not inside the parent); unimplemented (run-time
 *     values, an offset that is not at a block border, a window that cuts a block, or a layout that
 *     is not blocked); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_create_submemory(
    dnnl_tp_memory_desc_t *memory_desc, const_dnnl_tp_memory_desc_t parent_memory_desc,
    const dnnl_tp_dims_t dims, const dnnl_tp_dims_t offsets);

/** Creates a descriptor of the same elements in the same order with other dimensions. Thread-safe.
 *
 * @param[out] out_memory_desc owned by the caller; NULL on failure
 * @param in_memory_desc blocked or any, without run-time dimensions
 * @param ndims new number of dimensions
 * @param dims new sizes with the same product
 * @return success; invalid_arguments (another product, run-time dimensions, or a split or merge
 *     that the layout does not allow: dimensions merge only if they are dense in each other and
 *     have no inner blocks, and never across a dimension of size 0, which counts as 1 in the
 *     product); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_reshape(
    dnnl_tp_memory_desc_t *out_memory_desc, const_dnnl_tp_memory_desc_t in_memory_desc, int ndims,
    const dnnl_tp_dims_t dims);

/** Creates a descriptor of the same buffer with permuted dimensions: out.dims[permutation[d]] =
 * in.dims[d]. Thread-safe.
 *
 * @param[out] out_memory_desc owned by the caller; NULL on failure
 * @param in_memory_desc blocked or any
 * @param permutation ndims numbers, each of 0..ndims-1 once
 * @return success; invalid_arguments (not a permutation, run-time dimensions or strides, or the
 *     layout does not allow it); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_permute_axes(
    dnnl_tp_memory_desc_t *out_memory_desc, const_dnnl_tp_memory_desc_t in_memory_desc,
    const int *permutation);

/** Copies a descriptor. Thread-safe.
 *
 * @param[out] memory_desc owned by the caller; NULL on failure
 * @param existing_memory_desc the original
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_clone(
    dnnl_tp_memory_desc_t *memory_desc, const_dnnl_tp_memory_desc_t existing_memory_desc);

/** Writes a descriptor as bytes, which only this version of the library on this kind of machine can
 * read. Thread-safe.
 *
 * @param[out] blob memory of *size bytes; NULL asks for the size only
 * @param[in,out] size size of blob in bytes; out: number of bytes needed
 * @param memory_desc the descriptor
 * @return success; invalid_arguments (the memory is too small). */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_memory_desc_get_blob(uint8_t *blob, size_t *size, const_dnnl_tp_memory_desc_t memory_desc);

/** Creates a descriptor from bytes of dnnl_tp_memory_desc_get_blob(), which the call validates.
 * Thread-safe.
 *
 * @param[out] memory_desc owned by the caller; NULL on failure
 * @param blob all bytes that dnnl_tp_memory_desc_get_blob() wrote
 * @return success; invalid_arguments (not a valid blob of this version); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_memory_desc_create_with_blob(dnnl_tp_memory_desc_t *memory_desc, const uint8_t *blob);

/** Reads one property of a descriptor, like dnnl_tp_memory_desc_query_v2() with index 0.
 * Thread-safe.
 *
 * @param memory_desc the descriptor
 * @param what ndims_s32, dims, data_type, submemory_offset_s64, padded_dims, padded_offsets,
 *     format_kind, strides, inner_nblks_s32, inner_blks, inner_idxs or num_handles_s32
 * @param[out] result a pointer whose type follows from the suffix of the name: int *, int64_t *, or
 *     a pointer to an enumeration; for dims, padded_dims, padded_offsets, strides, inner_blks and
 *     inner_idxs a const dnnl_tp_dims_t **, to which the call writes a pointer into the descriptor
 * @return success; invalid_arguments (strides or inner blocks of a layout that has none);
 *     unimplemented (another value of what). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_query(const_dnnl_tp_memory_desc_t memory_desc,
                                                           dnnl_tp_query_t what, void *result);

/** Reads one property of a descriptor. Thread-safe.
 *
 * @param memory_desc the descriptor
 * @param what as in dnnl_tp_memory_desc_query()
 * @param index number of the buffer; 0
 * @param[out] result as in dnnl_tp_memory_desc_query()
 * @return as dnnl_tp_memory_desc_query(); invalid_arguments also for another index. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_desc_query_v2(
    const_dnnl_tp_memory_desc_t memory_desc, dnnl_tp_query_t what, int index, void *result);

/** Tells whether two descriptors are equal in every member, except strides of dimensions of size 1,
 * which have no effect. Thread-safe.
 *
 * @param lhs a descriptor or NULL
 * @param rhs a descriptor or NULL
 * @return 1 if they are equal (NULL equals the zero descriptor), else 0. */
DNNL_TP_API int dnnl_tp_memory_desc_equal(const_dnnl_tp_memory_desc_t lhs,
                                          const_dnnl_tp_memory_desc_t rhs);

/** Gives the size of the buffer that a descriptor needs, counted from its handle without the offset
 * of a submemory. Thread-safe.
 *
 * @param memory_desc a descriptor or NULL
 * @return bytes; 0 for NULL, the zero descriptor, layout any and empty tensors;
 *     DNNL_TP_RUNTIME_SIZE_VAL if dimensions or strides are run-time. */
DNNL_TP_API size_t dnnl_tp_memory_desc_get_size(const_dnnl_tp_memory_desc_t memory_desc);

/** Gives the size of buffer number index. Thread-safe.
 *
 * @param memory_desc a descriptor or NULL
 * @param index 0; other buffers have size 0
 * @return as dnnl_tp_memory_desc_get_size(). */
DNNL_TP_API size_t dnnl_tp_memory_desc_get_size_v2(const_dnnl_tp_memory_desc_t memory_desc,
                                                   int index);

/** Frees a descriptor that the caller owns. Thread-safe.
 *
 * @param memory_desc NULL or a descriptor of a _create, _clone, _reshape or _permute_axes call
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_memory_desc_destroy(dnnl_tp_memory_desc_t memory_desc);

/** Gives the size of an element. Value.
 *
 * @param data_type a data type
 * @return bytes; 1 for types of 4 bits; 0 for dnnl_tp_data_type_undef and unknown values. */
DNNL_TP_API size_t dnnl_tp_data_type_size(dnnl_tp_data_type_t data_type);

/* ---- Memory ---------------------------------------------------------------------------------- */

/** Creates a memory object. Thread-safe.
 *
 * @param[out] memory owned by the caller; NULL on failure
 * @param memory_desc copied; NULL = the zero descriptor
 * @param engine kept alive by the memory object
 * @param handle the caller's buffer of at least dnnl_tp_memory_desc_get_size() bytes, valid as long
 *     as it is used; DNNL_TP_MEMORY_NONE = no buffer yet; DNNL_TP_MEMORY_ALLOCATE = a buffer that
 *     the library allocates (64-byte aligned, zeroed) and owns
 * @return success; invalid_arguments (layout any, run-time dimensions with DNNL_TP_MEMORY_ALLOCATE,
 *     engine NULL); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_create(dnnl_tp_memory_t *memory,
                                                       const_dnnl_tp_memory_desc_t memory_desc,
                                                       dnnl_tp_engine_t engine, void *handle);

/** Creates a memory object from an array of handles. Thread-safe.
 *
 * @param[out] memory owned by the caller; NULL on failure
 * @param memory_desc as in dnnl_tp_memory_create()
 * @param engine as in dnnl_tp_memory_create()
 * @param nhandles must be the descriptor's number of handles: 1
 * @param handles nhandles buffers, as in dnnl_tp_memory_create()
 * @return as dnnl_tp_memory_create(); invalid_arguments also for another nhandles. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_create_v2(dnnl_tp_memory_t *memory,
                                                          const_dnnl_tp_memory_desc_t memory_desc,
                                                          dnnl_tp_engine_t engine, int nhandles,
                                                          void **handles);

/** Creates a memory object of a host scalar. It belongs to no engine (dnnl_tp_memory_get_engine()
 * gives NULL). Mapping it gives the address of its value; calls that give or take a data handle
 * return invalid_arguments. Thread-safe.
 *
 * @param[out] memory owned by the caller; NULL on failure
 * @param memory_desc a descriptor of dnnl_tp_memory_desc_create_host_scalar(); copied
 * @param scalar_ptr the value, copied
 * @return success; invalid_arguments (another descriptor); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_create_host_scalar(
    dnnl_tp_memory_t *memory, const_dnnl_tp_memory_desc_t memory_desc, void *scalar_ptr);

/** Gives the value of a host scalar. Thread-safe.
 *
 * @param memory a host scalar
 * @param[out] value memory for one element
 * @return success; invalid_arguments (not a host scalar). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_host_scalar_value(const_dnnl_tp_memory_t memory,
                                                                      void *value);

/** Changes the value of a host scalar. Submitted executions keep the old value. Thread-compatible.
 *
 * @param memory a host scalar
 * @param value one element, copied
 * @return success; invalid_arguments (not a host scalar). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_set_host_scalar_value(dnnl_tp_memory_t memory,
                                                                      const void *value);

/** Like dnnl_tp_memory_create(), but the library initialises its own buffer (with zeros) on the
 * stream, after the work that was submitted to it. Thread-safe.
 *
 * @param[out] memory owned by the caller; NULL on failure
 * @param memory_desc as in dnnl_tp_memory_create()
 * @param engine as in dnnl_tp_memory_create()
 * @param handle as in dnnl_tp_memory_create()
 * @param stream a stream of the engine
 * @return as dnnl_tp_memory_create(); invalid_arguments also for a stream of another engine. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_memory_create_on_stream(dnnl_tp_memory_t *memory, const_dnnl_tp_memory_desc_t memory_desc,
                                dnnl_tp_engine_t engine, void *handle, dnnl_tp_stream_t stream);

/** Gives the descriptor of a memory object. Thread-safe.
 *
 * @param memory a memory object
 * @param[out] memory_desc borrowed from the memory object
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_memory_desc(
    const_dnnl_tp_memory_t memory, const_dnnl_tp_memory_desc_t *memory_desc);

/** Gives the engine of a memory object. Thread-safe.
 *
 * @param memory a memory object
 * @param[out] engine borrowed from the memory object
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_engine(const_dnnl_tp_memory_t memory,
                                                           dnnl_tp_engine_t *engine);

/** Gives the buffer of a memory object. Thread-safe.
 *
 * @param memory a memory object, or NULL
 * @param[out] handle the buffer; NULL if there is none
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_data_handle(const_dnnl_tp_memory_t memory,
                                                                void **handle);

/** Gives buffer number index of a memory object. Thread-safe.
 *
 * @param memory a memory object, or NULL
 * @param[out] handle the buffer; NULL if there is none
 * @param index 0
 * @return success; invalid_arguments (another index). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_get_data_handle_v2(const_dnnl_tp_memory_t memory,
                                                                   void **handle, int index);

/** Replaces the buffer of a memory object, and frees the old one if the library allocated it.
 * Submitted executions keep the old buffer. Thread-compatible.
 *
 * @param memory a memory object
 * @param handle as in dnnl_tp_memory_create(), without DNNL_TP_MEMORY_ALLOCATE
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_set_data_handle(dnnl_tp_memory_t memory,
                                                                void *handle);

/** Like dnnl_tp_memory_set_data_handle(), for buffer number index. Thread-compatible.
 *
 * @param memory a memory object
 * @param handle as in dnnl_tp_memory_set_data_handle()
 * @param index 0
 * @return success; invalid_arguments (another index). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_set_data_handle_v2(dnnl_tp_memory_t memory,
                                                                   void *handle, int index);

/** Like dnnl_tp_memory_set_data_handle(), and zeroes the padding of a blocked layout in the new
 * buffer, on the stream, after the work that was submitted to it. Thread-compatible.
 *
 * @param memory a memory object
 * @param handle the new buffer
 * @param stream a stream of the memory's engine
 * @return success; invalid_arguments (a stream of another engine, or in use); the errors of an
 *     execution. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_set_data_handle_on_stream(dnnl_tp_memory_t memory,
                                                                          void *handle,
                                                                          dnnl_tp_stream_t stream);

/** Gives a pointer to the data for the host; on the CPU the buffer itself. Thread-safe.
 *
 * @param memory a memory object
 * @param[out] mapped_ptr the buffer; NULL if there is none
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_map_data(const_dnnl_tp_memory_t memory,
                                                         void **mapped_ptr);

/** Like dnnl_tp_memory_map_data(), for buffer number index. Thread-safe.
 *
 * @param memory a memory object
 * @param[out] mapped_ptr the buffer; NULL if there is none
 * @param index 0
 * @return success; invalid_arguments (another index). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_map_data_v2(const_dnnl_tp_memory_t memory,
                                                            void **mapped_ptr, int index);

/** Ends a mapping. Thread-safe.
 *
 * @param memory a memory object
 * @param mapped_ptr the pointer of dnnl_tp_memory_map_data()
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_unmap_data(const_dnnl_tp_memory_t memory,
                                                           void *mapped_ptr);

/** Like dnnl_tp_memory_unmap_data(), for buffer number index. Thread-safe.
 *
 * @param memory a memory object
 * @param mapped_ptr the pointer of dnnl_tp_memory_map_data_v2()
 * @param index 0
 * @return success; invalid_arguments (another index). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_memory_unmap_data_v2(const_dnnl_tp_memory_t memory,
                                                              void *mapped_ptr, int index);

/** Frees a memory object. If the library allocated its buffer, the buffer is freed when no
 * submitted execution uses it. Thread-safe.
 *
 * @param memory NULL or a memory object
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_memory_destroy(dnnl_tp_memory_t memory);

#ifdef __cplusplus
}
#endif

#endif
