/* A graph whose operators wait for numbers from sockets. One thread of the program polls all sockets; no thread of the
 * pool waits: it has one thread, which computes something else meanwhile.
 *
 *   receive   tells the poller what it wants, and waits for an event (dnnl_tp_host_wait_event)
 *   take      runs when the event is done: copies what has come into a tensor
 *   total     the sum of all that came
 *
 * What the poller writes to is the program's, never a tensor: the run may have ended meanwhile, by a token, a deadline or
 * an error of another operator. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_graph.h"

#define OK(call) (void)((call) == dnnl_tp_success || (die(#call), 0))
static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, dnnl_tp_last_error());
    exit(1);
}

/* ---- The program's own thread: sockets --------------------------------------------------------------- */

enum { LINES = 3, FLOATS = 4 };

typedef struct {
    int fd, far;           /* our end, and the other one, which this example plays as well */
    dnnl_tp_event_t event; /* what the operator waits for; NULL: nobody wants anything */
    float data[FLOATS];
    size_t got;
} line_t;

static struct {
    dnnl_tp_engine_t engine;
    line_t line[LINES];
    pthread_mutex_t lock; /* of the lines */
    int wake[2];          /* a pipe: something is wanted, or (closed) the end */
} net = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Reads what is there; signals once all numbers have come, or the other end is gone. */
static void look_at(line_t *l) {
    const ssize_t n = read(l->fd, (char *)l->data + l->got, sizeof l->data - l->got);
    dnnl_tp_status_t status = dnnl_tp_success;
    if (n > 0) {
        l->got += (size_t)n;
        if (l->got < sizeof l->data) return;
    } else {
        status = dnnl_tp_fail(dnnl_tp_runtime_error, "the line is dead");
    }
    dnnl_tp_event_t event = l->event;
    l->event = NULL;
    pthread_mutex_unlock(&net.lock); /* signalling may run pieces of the graph on this thread */
    OK(dnnl_tp_event_signal(event, status));
    OK(dnnl_tp_event_destroy(event));
    pthread_mutex_lock(&net.lock);
}

static void *poller(void *arg) {
    (void)arg;
    for (;;) {
        struct pollfd fd[LINES + 1] = {{.fd = net.wake[0], .events = POLLIN}};
        pthread_mutex_lock(&net.lock);
        for (int i = 0; i < LINES; ++i)
            fd[i + 1] = (struct pollfd){.fd = net.line[i].event ? net.line[i].fd : -1, .events = POLLIN};
        pthread_mutex_unlock(&net.lock);
        if (poll(fd, LINES + 1, -1) < 0) continue;
        char c;
        if (fd[0].revents && read(net.wake[0], &c, 1) < 1) return NULL;
        pthread_mutex_lock(&net.lock);
        for (int i = 0; i < LINES; ++i)
            if (fd[i + 1].revents && net.line[i].event) look_at(&net.line[i]);
        pthread_mutex_unlock(&net.lock);
    }
}

/* ---- Operators --------------------------------------------------------------------------------------- */

static dnnl_tp_status_t receive(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    line_t *l = arg;
    dnnl_tp_event_t event;
    (void)nin, (void)in, (void)nout;
    memset(out[0].data, 0, 1);
    dnnl_tp_status_t status = dnnl_tp_event_create_host(&event, net.engine);
    if (status) return status;
    /* First the operator waits, then the event is the poller's, which may signal and destroy it at once. */
    status = dnnl_tp_host_wait_event(should_stop, event);
    if (status) {
        OK(dnnl_tp_event_destroy(event));
        return status;
    }
    pthread_mutex_lock(&net.lock);
    l->event = event;
    l->got = 0;
    pthread_mutex_unlock(&net.lock);
    return write(net.wake[1], "", 1) == 1 ? dnnl_tp_success : dnnl_tp_fail(dnnl_tp_runtime_error, "no pipe");
}

static dnnl_tp_status_t take(void *arg, const volatile int *should_stop, int nin,
                             const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    const line_t *l = arg;
    (void)should_stop, (void)nin, (void)in, (void)nout;
    memcpy(out[0].data, l->data, sizeof l->data);
    return dnnl_tp_success;
}

static dnnl_tp_graph_t make_graph(void) {
    const dnnl_tp_tensor_info_t came = {.ndims = 1, .dims = {1}, .data_type = dnnl_tp_u8},
                                numbers = {.ndims = 1, .dims = {FLOATS}, .data_type = dnnl_tp_f32};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v, sum[2];
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < LINES; ++i) {
        line_t *l = &net.line[i];
        OK(dnnl_tp_graph_host(g, receive, l, NULL, DNNL_TP_HOST_MAY_WAIT, "receive", 0, NULL, 1, &came, &v));
        OK(dnnl_tp_graph_host(g, take, l, NULL, 0, "take", 1, &v, 1, &numbers, &sum[i > 0]));
        if (i > 0) OK(dnnl_tp_graph_op(g, dnnl_tp_op_add, "total", 2, sum, 0, NULL, 1, &sum[0]));
    }
    OK(dnnl_tp_graph_output(g, sum[0], "total"));
    return g;
}

/* ---- The example ------------------------------------------------------------------------------------- */

int main(void) {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream, other;
    dnnl_tp_executable_t executable, other_executable;
    pthread_t thread;
    const dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = 1};
    if (dnnl_tp_threadpool_create(&pool, &opts) != dnnl_tp_success) {
        printf("this build has no pools\n");
        return 0;
    }
    OK(dnnl_tp_engine_create(&net.engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    OK(dnnl_tp_stream_attr_set_async(attr, 1));
    OK(dnnl_tp_stream_create_v2(&stream, net.engine, dnnl_tp_stream_default_flags, attr));
    OK(dnnl_tp_stream_create_v2(&other, net.engine, dnnl_tp_stream_default_flags, attr));
    if (pipe(net.wake)) return 1;
    for (int i = 0; i < LINES; ++i) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
        net.line[i].fd = ends[0];
        net.line[i].far = ends[1];
    }
    if (pthread_create(&thread, NULL, poller, NULL)) return 1;

    dnnl_tp_compile_opts_t compile = {.struct_size = sizeof compile, .stream_attr = attr};
    dnnl_tp_graph_t graph = make_graph(), small;
    OK(dnnl_tp_executable_compile(&executable, graph, net.engine, 0, NULL, &compile));
    OK(dnnl_tp_graph_destroy(graph));

    dnnl_tp_value_t x;
    OK(dnnl_tp_graph_create(&small, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(small, &x, "x", dnnl_tp_f32, 1, (dnnl_tp_dims_t){1}));
    OK(dnnl_tp_graph_op(small, dnnl_tp_op_square, "square", 1, &x, 0, NULL, 1, &x));
    OK(dnnl_tp_graph_output(small, x, "y"));
    OK(dnnl_tp_executable_compile(&other_executable, small, net.engine, 0, NULL, &compile));
    OK(dnnl_tp_graph_destroy(small));

    float total[FLOATS], in = 3, squared = 0;
    void *out[] = {total}, *square_in[] = {&in}, *square_out[] = {&squared};
    dnnl_tp_event_t done, square_done;
    OK(dnnl_tp_executable_run_async(executable, stream, 0, NULL, 1, out, NULL, &done));
    /* The graph waits, and the pool's only thread squares a number. */
    OK(dnnl_tp_executable_run_async(other_executable, other, 1, square_in, 1, square_out, NULL,
                                    &square_done));
    OK(dnnl_tp_event_wait(square_done, -1, NULL));
    printf("the graph waits, the pool computed %g\n", squared);
    for (int i = LINES - 1; i >= 0; --i) {
        const float numbers[FLOATS] = {1.f, 2.f, 3.f, (float)i};
        for (int k = 0; k < FLOATS; ++k)
            if (write(net.line[i].far, &numbers[k], sizeof(float)) != sizeof(float)) return 1;
    }
    OK(dnnl_tp_event_wait(done, -1, NULL));
    printf("total: %g %g %g %g\n", total[0], total[1], total[2], total[3]);
    OK(dnnl_tp_event_destroy(square_done));
    OK(dnnl_tp_event_destroy(done));

    /* One more run, and the other end of one line goes: the run fails. */
    OK(dnnl_tp_executable_run_async(executable, stream, 0, NULL, 1, out, NULL, &done));
    close(net.line[1].far);
    dnnl_tp_status_t status;
    const char *text;
    OK(dnnl_tp_event_wait(done, -1, &status));
    OK(dnnl_tp_event_get_error(done, &text));
    printf("%s: %s\n", dnnl_tp_status2str(status), text);
    OK(dnnl_tp_event_destroy(done));

    OK(dnnl_tp_executable_destroy(executable));
    OK(dnnl_tp_executable_destroy(other_executable));
    OK(dnnl_tp_stream_destroy(stream));
    OK(dnnl_tp_stream_destroy(other));
    close(net.wake[1]);
    pthread_join(thread, NULL);
    for (int i = 0; i < LINES; ++i) {
        if (net.line[i].event) OK(dnnl_tp_event_destroy(net.line[i].event)); /* nobody waits any more */
        close(net.line[i].fd);
    }
    OK(dnnl_tp_stream_attr_destroy(attr));
    OK(dnnl_tp_engine_destroy(net.engine));
    OK(dnnl_tp_threadpool_destroy(pool));
    const bool right = squared == 9 && total[0] == 3 && total[1] == 6 && total[2] == 9 && total[3] == 3;
    return right && status == dnnl_tp_runtime_error ? 0 : 1;
}
