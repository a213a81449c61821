#include "kernels.h"

#include <cstdlib>
#include <cstring>

namespace danlu {

namespace {

const Kernels &choose() {
    const char *wish = std::getenv("DANLU_RECORDS_KERNELS"); // "portable": for tests and for chasing bugs
    if (wish && !std::strcmp(wish, "portable")) return portable::table;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("fma"))
        return avx2::table;
#endif
    return portable::table;
}

} // namespace

const Kernels &kernels() {
    static const Kernels &chosen = choose();
    return chosen;
}

} // namespace danlu
