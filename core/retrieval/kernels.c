/*
 * kernels.c -- products of a query and a vector, and differing bits, for each processor.
 *
 * All sums are of integers, so the order of the additions does not matter and every kernel gives the same number. They
 * stay within an int32: 8192 products of a query's number, at most 2047, and an int8.
 */

#include "core/retrieval/vectors.h"

#include <pthread.h>
#include <string.h>

#include "core/base/compiler.h"

static int32_t dot_plain(const int16_t *a, const int8_t *b, size_t length)
{
    int32_t sum = 0;

    for (size_t i = 0; i < length; i++)
        sum += a[i] * b[i];
    return sum;
}

static uint32_t differ_plain(const uint8_t *a, const uint8_t *b, size_t length)
{
    uint32_t count = 0;

    for (size_t i = 0; i < length; i += 8) {
        uint64_t left, right;

        memcpy(&left, a + i, 8);
        memcpy(&right, b + i, 8);
        count += (uint32_t)__builtin_popcountll(left ^ right);
    }
    return count;
}

#if defined(__x86_64__)

#include <immintrin.h>

/* The int8 are widened: the instruction that multiplies pairs of int16 has no case in which it saturates. */
__attribute__((target("avx2"))) static int32_t dot_avx2(const int16_t *a, const int8_t *b,
                                                        size_t length)
{
    __m256i sums = _mm256_setzero_si256();
    int32_t parts[8], sum = 0;
    size_t i = 0;

    for (; i + 16 <= length; i += 16) {
        __m256i left;
        __m128i right;

        memcpy(&left, a + i, sizeof(left));
        memcpy(&right, b + i, sizeof(right));
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(left, _mm256_cvtepi8_epi16(right)));
    }
    memcpy(parts, &sums, sizeof(parts));
    for (size_t j = 0; j < COUNT_OF(parts); j++)
        sum += parts[j];
    return sum + dot_plain(a + i, b + i, length - i);
}

__attribute__((target("popcnt"))) static uint32_t differ_popcnt(const uint8_t *a,
                                                                const uint8_t *b, size_t length)
{
    uint64_t count = 0;

    for (size_t i = 0; i < length; i += 8) {
        uint64_t left, right;

        memcpy(&left, a + i, 8);
        memcpy(&right, b + i, 8);
        count += (uint64_t)__builtin_popcountll(left ^ right);
    }
    return (uint32_t)count;
}

__attribute__((target("avx512f,avx512bw"))) static int32_t dot_avx512(const int16_t *a,
                                                                      const int8_t *b,
                                                                      size_t length)
{
    __m512i sums = _mm512_setzero_si512();
    size_t i = 0;

    for (; i + 32 <= length; i += 32) {
        __m512i left = _mm512_loadu_si512(a + i);
        __m256i right;

        memcpy(&right, b + i, sizeof(right));
        sums = _mm512_add_epi32(sums, _mm512_madd_epi16(left, _mm512_cvtepi8_epi16(right)));
    }
    return _mm512_reduce_add_epi32(sums) + dot_plain(a + i, b + i, length - i);
}

__attribute__((target("avx512f,avx512bw,avx512vpopcntdq,popcnt"))) static uint32_t
differ_avx512(const uint8_t *a, const uint8_t *b, size_t length)
{
    __m512i counts = _mm512_setzero_si512();
    size_t i = 0;

    for (; i + 64 <= length; i += 64) {
        __m512i left = _mm512_loadu_si512(a + i), right = _mm512_loadu_si512(b + i);

        counts = _mm512_add_epi64(counts, _mm512_popcnt_epi64(_mm512_xor_si512(left, right)));
    }
    return (uint32_t)_mm512_reduce_add_epi64(counts) + differ_popcnt(a + i, b + i, length - i);
}

static size_t find_kernels(struct vectors_kernel *found)
{
    size_t count = 0;

    found[count++] = (struct vectors_kernel){"plain", dot_plain, differ_plain};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
        found[count++] = (struct vectors_kernel){"avx2", dot_avx2, differ_popcnt};
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vpopcntdq"))
        found[count++] = (struct vectors_kernel){"avx512", dot_avx512, differ_avx512};
    return count;
}

#elif defined(__aarch64__)

#include <arm_neon.h>

static int32_t dot_neon(const int16_t *a, const int8_t *b, size_t length)
{
    int32x4_t sums = vdupq_n_s32(0);
    size_t i = 0;

    for (; i + 16 <= length; i += 16) {
        int8x16_t right = vld1q_s8(b + i);
        int16x8_t low = vmovl_s8(vget_low_s8(right)), high = vmovl_s8(vget_high_s8(right));
        int16x8_t first = vld1q_s16(a + i), second = vld1q_s16(a + i + 8);

        sums = vmlal_s16(sums, vget_low_s16(first), vget_low_s16(low));
        sums = vmlal_s16(sums, vget_high_s16(first), vget_high_s16(low));
        sums = vmlal_s16(sums, vget_low_s16(second), vget_low_s16(high));
        sums = vmlal_s16(sums, vget_high_s16(second), vget_high_s16(high));
    }
    return vaddvq_s32(sums) + dot_plain(a + i, b + i, length - i);
}

static uint32_t differ_neon(const uint8_t *a, const uint8_t *b, size_t length)
{
    uint32x4_t counts = vdupq_n_u32(0);
    size_t i = 0;

    for (; i + 16 <= length; i += 16) {
        uint8x16_t bits = vcntq_u8(veorq_u8(vld1q_u8(a + i), vld1q_u8(b + i)));

        counts = vpadalq_u16(counts, vpaddlq_u8(bits));
    }
    return vaddvq_u32(counts) + differ_plain(a + i, b + i, length - i);
}

static size_t find_kernels(struct vectors_kernel *found)
{
    found[0] = (struct vectors_kernel){"plain", dot_plain, differ_plain};
    found[1] = (struct vectors_kernel){"neon", dot_neon, differ_neon};
    return 2;
}

#else

static size_t find_kernels(struct vectors_kernel *found)
{
    found[0] = (struct vectors_kernel){"plain", dot_plain, differ_plain};
    return 1;
}

#endif

static struct vectors_kernel kernels[3];
static size_t kernel_count;

static void find_once(void)
{
    kernel_count = find_kernels(kernels);
}

size_t vectors_kernels(const struct vectors_kernel **ret_kernels)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_once);
    *ret_kernels = kernels;
    return kernel_count;
}
