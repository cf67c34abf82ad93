/* What the device's thread does with an item whose turn has come. */
#include <string.h>

#include "gpu/fake/calls.h"
#include "gpu/fake/lt_images.h"

/* Is the block there for the stream's present item, by what the stream knows? NULL, or what is wrong. */
const char *fake_block_refused_locked(const fake_stream_t *s, const fake_block_t *b) {
    if (b->ctx != s->ctx) return "is of another device";
    if (b->graph && b->graph != s->head->graph) return "is of a graph, and nothing else may use it";
    if (!b->live) return "is not allocated yet: nothing makes this stream wait for its allocation";
    if (!b->pool || fake.clock[s->slot].of[b->slot] >= b->seq) return NULL;
    return "may not be allocated yet: nothing makes this stream wait for its allocation";
}

/* The bytes of an address, marked as used by the stream; NULL and a text: they may not be used. */
static fake_block_t *use_locked(const fake_stream_t *s, dtp_cu_ptr_t at, size_t bytes, const char *what) {
    char text[128];
    fake_block_t *b = fake_block_find_locked(at, bytes);
    const char *refused = b ? fake_block_refused_locked(s, b) : "";
    if (refused) {
        fake_tell_locked("%s: %s %s", what, fake_address_text_locked(at, bytes, text, sizeof text),
                         b ? refused : "is used");
        return NULL;
    }
    b->used.of[s->slot] = s->head->seq;
    return b;
}

/* Tells what fake_read_locked or fake_write_locked found. */
static dtp_cu_result_t judge_locked(const char *what, const char *wrong) {
    if (!wrong) return DTP_CU_SUCCESS;
    fake_tell_locked("%s %s", what, wrong);
    return DTP_CU_LAUNCH_FAILED;
}

static dtp_cu_result_t copy_locked(const fake_stream_t *s, const fake_item_t *item) {
    fake_block_t *from = NULL, *to = NULL;
    if (!item->host_from && !(from = use_locked(s, item->from, item->bytes, "a copy")))
        return DTP_CU_ILLEGAL_ADDRESS;
    if (!item->host_to && !(to = use_locked(s, item->to, item->bytes, "a copy")))
        return DTP_CU_ILLEGAL_ADDRESS;
    const size_t skip_from = from ? item->from - from->at : 0, skip_to = to ? item->to - to->at : 0;
    memcpy(to ? to->data + skip_to : item->host_to, from ? from->data + skip_from : item->host_from,
           item->bytes);
    const char *wrong = from ? fake_read_locked(s, from, skip_from, item->bytes) : NULL;
    const unsigned char *set = from && from->set ? from->set + skip_from : NULL;
    if (!wrong && to) wrong = fake_write_locked(s, to, skip_to, set, item->bytes);
    ++fake.stats.copies;
    return judge_locked("a copy", wrong);
}

static dtp_cu_result_t fill_locked(const fake_stream_t *s, const fake_item_t *item) {
    fake_block_t *b = use_locked(s, item->to, item->bytes, "a fill");
    if (!b) return DTP_CU_ILLEGAL_ADDRESS;
    memset(b->data + (item->to - b->at), item->value, item->bytes);
    ++fake.stats.fills;
    return judge_locked("a fill", fake_write_locked(s, b, item->to - b->at, NULL, item->bytes));
}

static dtp_cu_result_t alloc_locked(const fake_item_t *item) {
    fake_block_t *b = fake_block_find_locked(item->to, 0);
    b->live = true;
    if (b->graph) memset(b->set, 0, b->bytes); /* of each launch anew */
    return DTP_CU_SUCCESS;
}

/* All that used the block must come before. */
static dtp_cu_result_t free_locked(const fake_stream_t *s, const fake_item_t *item) {
    fake_block_t *b = fake_block_find_locked(item->to, 0);
    const char *refused = fake_block_refused_locked(s, b);
    const size_t bytes = b->bytes;
    if (b->graph) { /* its addresses are kept for the next launch */
        b->live = false;
        return DTP_CU_SUCCESS;
    }
    for (int i = 0; !refused && i < FAKE_MAX_STREAMS; ++i)
        if (b->used.of[i] > fake.clock[s->slot].of[i])
            refused = "is used by another stream: nothing makes the stream that frees wait for it";
    fake_pool_block_gone_locked(b);
    if (!refused) return DTP_CU_SUCCESS;
    fake_tell_locked("a block of %zu that is freed %s", bytes, refused);
    return DTP_CU_ILLEGAL_ADDRESS;
}

static dtp_cu_result_t record_locked(const fake_stream_t *s, const fake_item_t *item) {
    item->moment->done = true;
    item->moment->ns = fake_now_ns();
    item->moment->clock = fake.clock[s->slot];
    return DTP_CU_SUCCESS;
}

dtp_cu_result_t fake_execute_locked(fake_stream_t *s, fake_item_t *item) {
    switch (item->work) {
    case FAKE_LAUNCH: return fake_run_locked(s, item);
    case FAKE_COPY: return copy_locked(s, item);
    case FAKE_FILL: return fill_locked(s, item);
    case FAKE_ALLOC: return alloc_locked(item);
    case FAKE_FREE: return free_locked(s, item);
    case FAKE_RECORD: return record_locked(s, item);
    case FAKE_PRODUCT: return fake_lt_run_locked(s, item->params);
    case FAKE_WAIT_VALUE:
        return use_locked(s, item->from, sizeof(uint32_t), "a wait for a value") ? DTP_CU_SUCCESS
                                                                                 : DTP_CU_ILLEGAL_ADDRESS;
    default: return DTP_CU_SUCCESS; /* there was something to wait for */
    }
}

void fake_drop_locked(fake_item_t *item) {
    if (item->work == FAKE_FREE && !item->graph)
        fake_pool_block_gone_locked(fake_block_find_locked(item->to, 0));
    if (item->work == FAKE_RECORD) item->moment->done = true;
}
