// Compiled once as `portable`, and on x86-64 once more as `avx2` with -mavx2 -mbmi -mbmi2 -mfma.
#include "kernels.h"

#include <string.h>
#if defined(DANLU_AVX2)
#include <immintrin.h>
#define DANLU_ISA avx2
#else
#define DANLU_ISA portable
#endif

namespace danlu {
namespace DANLU_ISA {
namespace {

#include "kernels_huffman.inl"
#include "kernels_runs.inl"
#include "kernels_augment.inl"
#include "kernels_exact.inl"
#if defined(DANLU_AVX2)
#include "kernels_pixels_avx2.inl"
#include "kernels_resize_avx2.inl"
#else
// libjpeg-turbo's own vector code does this part.
constexpr decltype(Kernels::inverse_dct) inverse_dct = nullptr;
constexpr decltype(Kernels::upsample_2x1) upsample_2x1 = nullptr;
constexpr decltype(Kernels::upsample_2x2) upsample_2x2 = nullptr;
constexpr decltype(Kernels::ycc_to_rgbx) ycc_to_rgbx = nullptr;
#include "kernels_resize_portable.inl"
#endif

} // namespace

#define DANLU_TEXT_OF(x) #x
#define DANLU_TEXT(x) DANLU_TEXT_OF(x)
extern const Kernels table;
const Kernels table = {DANLU_TEXT(DANLU_ISA), decode_mcu,       skip_mcus,        decode_runs,     find_ff,
                       inverse_dct,          upsample_2x1,     upsample_2x2,     ycc_to_rgbx,     resize_rows,
                       exact_row,            exact_blend,
                       blend_rows,           store_planes_f32, store_packed_f32, store_planes_u8, store_packed_u8,
                       blend_grey,           blend_own_grey,   sum_grey,         sharpen_row};

} // namespace DANLU_ISA
} // namespace danlu
