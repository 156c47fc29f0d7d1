#pragma once

namespace attn {

#if defined(__x86_64__)
template <class Work>
[[gnu::target("avx2,fma")]] void compiled_with_fma(Work& work) {
    work();
}
#endif

/// Calls `work`, compiled for processors whose fused multiply-add is one instruction where this is
/// such a processor: elsewhere std::fma is a call of the C library, with the same result.
///
/// Range   `work` must be inlined always, and all that it calls, for both ways to take it along.
template <class Work>
void with_fma(Work work) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return compiled_with_fma(work);
    }
#endif
    work();
}

}  // namespace attn
