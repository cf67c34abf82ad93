/* The rate of the tick counter, and what control groups grant: read from trees of files like those that Linux
 * shows, because few machines let a test make its own groups (tests/integrations/budget.c does where it may). */
#include "support/check.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "threading/base/futex.h"
#include "threading/base/topology.h"

enum { MOST_FILES = 5 };
typedef struct {
    const char *what, *groups;
    double quota;
    const char *file[MOST_FILES][2]; /* path below the root, text */
} tree_t;

static const tree_t trees[] = {
    {"v2", "0::/a/b\n", 1.5, {{"a/b/cpu.max", "150000 100000\n"}}},
    {"v2: no limit", "0::/a/b\n", 0, {{"a/b/cpu.max", "max 100000\n"}, {"a/cpu.max", "max 100000\n"}}},
    {"v2: a limit above",
     "0::/a/b\n",
     .5,
     {{"a/b/cpu.max", "max 100000\n"}, {"a/cpu.max", "50000 100000\n"}}},
    {"v2: the smallest of several",
     "0::/a/b/c\n",
     .25,
     {{"a/b/c/cpu.max", "400000 100000"}, {"a/b/cpu.max", "25000 100000"}, {"a/cpu.max", "100000 100000"}}},
    {"v2: a group beside is not ours", "0::/a/b\n", 0, {{"a/c/cpu.max", "50000 100000\n"}}},
    {"v2: a namespace of its own", "0::/\n", 2, {{"cpu.max", "200000 100000\n"}}},
    {"v2: above the namespace", "0::/../..\n", 2, {{"cpu.max", "200000 100000\n"}}},
    {"v2: another period", "0::/a\n", 3, {{"a/cpu.max", "30000 10000\n"}}},
    {"v1",
     "4:memory:/m\n3:cpu:/x\n1:name=systemd:/\n",
     .5,
     {{"cpu/x/cpu.cfs_quota_us", "50000\n"}, {"cpu/x/cpu.cfs_period_us", "100000\n"}}},
    {"v1: with cpuacct",
     "3:cpu,cpuacct:/x/y\n",
     .5,
     {{"cpu/x/cpu.cfs_quota_us", "50000\n"},
      {"cpu/x/cpu.cfs_period_us", "100000\n"},
      {"cpu/x/y/cpu.cfs_quota_us", "-1\n"},
      {"cpu/x/y/cpu.cfs_period_us", "100000\n"}}},
    {"v1: the other way round",
     "3:cpuacct,cpu:/x\n",
     .5,
     {{"cpu/x/cpu.cfs_quota_us", "50000\n"}, {"cpu/x/cpu.cfs_period_us", "100000\n"}}},
    {"v1: no limit",
     "3:cpu:/x\n",
     0,
     {{"cpu/x/cpu.cfs_quota_us", "-1\n"}, {"cpu/x/cpu.cfs_period_us", "100000\n"}}},
    {"v1: the group of another controller",
     "4:cpuset:/x\n3:cpu:/\n2:cpuacct:/x\n",
     0,
     {{"cpu/x/cpu.cfs_quota_us", "50000\n"}, {"cpu/x/cpu.cfs_period_us", "100000\n"}}},
    {"v1: a container that sees its group as the root",
     "3:cpu:/docker/0123\n",
     .5,
     {{"cpu/cpu.cfs_quota_us", "50000\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}}},
    {"v1 and v2: the smaller",
     "3:cpu:/x\n0::/x\n",
     1,
     {{"cpu/x/cpu.cfs_quota_us", "400000\n"},
      {"cpu/x/cpu.cfs_period_us", "100000\n"},
      {"x/cpu.max", "1000 1000\n"}}},
    {"v1: no period", "3:cpu:/x\n", 0, {{"cpu/x/cpu.cfs_quota_us", "50000\n"}}},
    {"empty files", "0::/a\n", 0, {{"a/cpu.max", ""}}},
    {"no numbers", "0::/a\n", 0, {{"a/cpu.max", "many few\n"}}},
    {"nonsense above zero", "0::/a\n", 0, {{"a/cpu.max", "50000 0\n"}}},
    {"lines that are none", "cpu\n:\n::\n0:\n\n0::/a", 1.5, {{"a/cpu.max", "150000 100000\n"}}},
    {"nothing", "", 0, {{"cpu.max", "50000 100000\n"}}},
};

static char root[] = "/tmp/dnnl_tp_topology_XXXXXX";

static void write_file(const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *c = path + strlen(root) + 1; (c = strchr(c, '/')); *c++ = '/') {
        *c = 0;
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}
static int remove_one(const char *path, const struct stat *s, int type, struct FTW *ftw) {
    (void)s, (void)type;
    return ftw->level ? remove(path) : 0;
}

static void test_trees(void **state) {
    (void)state;
    char groups[300];
    snprintf(groups, sizeof groups, "%s/groups", root);
    for (size_t t = 0; t < sizeof trees / sizeof *trees; ++t) {
        write_file("groups", trees[t].groups);
        for (int f = 0; f < MOST_FILES && trees[t].file[f][0]; ++f)
            write_file(trees[t].file[f][0], trees[t].file[f][1]);
        const double quota = dtp_cpu_quota_in(root, groups);
        if (quota != trees[t].quota) fail_msg("%s: %g, not %g", trees[t].what, quota, trees[t].quota);
        assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    }
    assert_true(dtp_cpu_quota_in(root, groups) == 0); /* no such file */
}

static void test_threads(void **state) {
    (void)state;
    static const struct {
        int cpus;
        double quota;
        int threads;
    } grants[] = {{4, 0, 4},   {4, .01, 1}, {4, .5, 1}, {4, 1, 1},   {4, 1.01, 2},
                  {4, 2.5, 3}, {4, 4, 4},   {4, 64, 4}, {1, 1.5, 1}, {4096, 0, 256}};
    for (size_t i = 0; i < sizeof grants / sizeof *grants; ++i)
        assert_int_equal(dtp_threads_granted(grants[i].cpus, grants[i].quota), grants[i].threads);
}

/* ---- Ticks ------------------------------------------------------------------------------------------- */

static void be_away(int signal) {
    enum { AWAY_NS = 20000 };
    (void)signal;
    for (int64_t until = dtp_now_ns() + AWAY_NS; dtp_now_ns() < until;) {
    }
}

/* Where interrupts keep the thread from between its two clocks, too. */
static void test_ticks(void **state) {
    (void)state;
    enum { ROUNDS = 20000, SAMPLE_NS = 10000, LONG_NS = 20000000, EVERY_US = 200 };
    const int64_t want = dtp_measure_ticks_per_us(LONG_NS);
    assert_true(want > 0);
    struct sigaction act = {.sa_handler = be_away, .sa_flags = SA_RESTART}, before;
    const struct itimerval timer = {{0, EVERY_US}, {0, EVERY_US}}, none = {{0, 0}, {0, 0}};
    assert_int_equal(sigaction(SIGALRM, &act, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
    int64_t least = want, most = want;
    for (int i = 0; i < ROUNDS; ++i) {
        const int64_t rate = dtp_measure_ticks_per_us(SAMPLE_NS);
        if (rate < least) least = rate;
        if (rate > most) most = rate;
    }
    assert_int_equal(setitimer(ITIMER_REAL, &none, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_in_range(least, want / 2, want);
    assert_in_range(most, want, 2 * want);
}

int main(void) {
    if (!mkdtemp(root)) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees), cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_ticks)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(root);
    return failed;
}
