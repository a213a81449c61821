#include "region.h"

#include <algorithm>

namespace danlu {

namespace {

constexpr int narrowest = 16; // libjpeg upsamples very narrow images in another way

int ceil_div(int a, int b) { return (a + b - 1) / b; }

template <typename T> void grow(std::vector<T> &v, size_t size) {
    if (v.size() < size) v.resize(size + size / 2);
}

} // namespace

bool RegionDecoder::open(const jpeg_decompress_struct &c, const Scan &scan) {
    if (!kernels().inverse_dct || c.num_components != 3 || c.jpeg_color_space != JCS_YCbCr) return false;
    if (c.image_width < narrowest) return false;
    scan_ = &scan;
    const int width = static_cast<int>(c.image_width), height = static_cast<int>(c.image_height);
    for (int i = 0; i < 3; i++) {
        const jpeg_component_info &info = c.comp_info[i];
        const JQUANT_TBL *table = info.quant_tbl_no >= 0 && info.quant_tbl_no < 4 ? c.quant_tbl_ptrs[info.quant_tbl_no] : nullptr;
        if (c.cur_comp_info[i] != &info || !table) return false;
        Plane &plane = planes_[i];
        plane.horizontal = info.h_samp_factor;
        plane.vertical = info.v_samp_factor;
        if (i > 0 && (plane.horizontal != 1 || plane.vertical != 1)) return false;
        plane.width = ceil_div(width * plane.horizontal, planes_[0].horizontal);
        plane.height = ceil_div(height * plane.vertical, planes_[0].vertical);
        for (int k = 0; k < 64; k++) plane.quantisation[k] = static_cast<int16_t>(table->quantval[k]);
    }
    const int shape = planes_[0].horizontal * 10 + planes_[0].vertical;
    mcus_per_row_ = ceil_div(width, mcu_width());
    return shape == 11 || shape == 21 || shape == 22;
}

int RegionDecoder::want(int left, int right, int top) {
    const int across = planes_[0].horizontal;
    left_ = left - left % across;
    right_ = right;
    row_ = top;
    const int first_column = std::max(0, left_ / across - 1), last_column = std::min(planes_[1].width - 1, (right - 1) / across + 1);
    first_mcu_ = first_column / 8;
    num_mcus_ = last_column / 8 - first_mcu_ + 1;
    next_mcu_row_ = first_chroma_row(top) / 8;
    reached_ = 0;
    whole_ = BitState{};

    const auto num_blocks = static_cast<size_t>(num_mcus_) * static_cast<size_t>(scan_->layout().num_blocks);
    if (!is_zero_) std::fill(coefficients_.begin(), coefficients_.end(), int16_t{0});
    is_zero_ = true;
    grow(coefficients_, num_blocks * 64);
    grow(ends_, num_blocks);
    grow(chroma_, 2 * (static_cast<size_t>(right_ - left_) + 2 * pixel_padding));
    size_t total = 0;
    for (Plane &plane : planes_) {
        plane.first = first_mcu_ * 8 * plane.horizontal;
        plane.stride = static_cast<size_t>(num_mcus_) * 8 * static_cast<size_t>(plane.horizontal) + 2 * pixel_padding;
        total += plane.stride * static_cast<size_t>(16 * plane.vertical) + pixel_padding;
    }
    grow(pixels_, total);
    uint8_t *at = pixels_.data();
    for (Plane &plane : planes_) {
        plane.data = at;
        at += plane.stride * static_cast<size_t>(16 * plane.vertical) + pixel_padding;
    }
    return left_;
}

// Rows of chroma that one row of the image is made of.
int RegionDecoder::first_chroma_row(int row) const {
    return planes_[0].vertical == 1 ? row : std::max(0, row / 2 - (row % 2 == 0));
}

int RegionDecoder::last_chroma_row(int row) const {
    return planes_[0].vertical == 1 ? row : std::min(planes_[1].height - 1, row / 2 + (row % 2 == 1));
}

bool RegionDecoder::read_row(uint8_t *to) {
    const Kernels &k = kernels();
    const int row = row_++;
    while (next_mcu_row_ * 8 <= last_chroma_row(row))
        if (!decode_mcu_row()) return false;
    const uint8_t *chroma[2];
    const int across = planes_[0].horizontal, n = ceil_div(columns(), across);
    for (int i = 0; i < 2; i++) {
        const Plane &plane = planes_[i + 1];
        uint8_t *scratch = chroma_.data() + static_cast<size_t>(i) * (static_cast<size_t>(columns()) + 2 * pixel_padding);
        chroma[i] = scratch;
        if (planes_[0].vertical == 2) {
            const int nearer = row / 2, farther = row % 2 ? last_chroma_row(row) : first_chroma_row(row);
            k.upsample_2x2(plane.row(nearer, left_ / 2), plane.row(farther, left_ / 2), n, scratch);
        } else if (across == 2) {
            k.upsample_2x1(plane.row(row, left_ / 2), n, scratch);
        } else {
            chroma[i] = plane.row(row, left_);
        }
    }
    k.ycc_to_rgbx(planes_[0].row(row, left_), chroma[0], chroma[1], columns(), to);
    return true;
}

bool RegionDecoder::decode_mcu_row() {
    const Kernels &k = kernels();
    const int mcu_row = next_mcu_row_++;
    const int64_t first = static_cast<int64_t>(mcu_row) * mcus_per_row_ + first_mcu_, last = first + num_mcus_;
    runs_.clear();
    clean_used_ = 0;
    const int64_t interval = scan_->interval();
    if (interval == 0) {
        if (!add_run(0, first, num_mcus_, first)) return false;
    } else {
        size_t room = 0;
        for (int64_t s = first / interval; s * interval < last && scan_->has(s); s++) room += scan_->room_for(s);
        grow(clean_, room); // now, because runs point into it
        for (int64_t at = first; at < last;) {
            const int64_t segment = at / interval, end = std::min(last, (segment + 1) * interval);
            if (!add_run(segment, at, static_cast<int>(end - at), first)) return false;
            at = end;
        }
    }
    is_zero_ = false;
    if (!k.decode_runs(runs_.data(), static_cast<int>(runs_.size()), scan_->dc(), scan_->ac(), scan_->layout())) return false;
    if (interval == 0) whole_ = runs_[0].bits;

    BlockTarget targets[max_mcu_blocks];
    int b = 0;
    for (Plane &plane : planes_) {
        for (int y = 0; y < plane.vertical; y++)
            for (int x = 0; x < plane.horizontal; x++) {
                const int row = 8 * (mcu_row * plane.vertical + y);
                targets[b++] = BlockTarget{plane.row(row, plane.first + 8 * x), plane.stride,
                                           8 * static_cast<size_t>(plane.horizontal), plane.quantisation};
            }
    }
    if (!k.inverse_dct(coefficients_.data(), ends_.data(), num_mcus_, scan_->layout().num_blocks, targets)) return false;
    is_zero_ = true;
    repeat_edges(planes_[1], mcu_row);
    repeat_edges(planes_[2], mcu_row);
    return true;
}

// Stand at MCU `first` and take `num_mcus` from there; all of them are in one segment.
bool RegionDecoder::add_run(int64_t segment, int64_t first, int num_mcus, int64_t first_of_row) {
    if (!scan_->has(segment)) return false;
    Run run;
    int64_t stands_at = segment * scan_->interval();
    if (scan_->interval() == 0) {
        if (!whole_.next) {
            grow(clean_, scan_->room_for(0));
            scan_->copy(0, clean_.data(), whole_);
        }
        run.bits = whole_;
        stands_at = reached_;
        reached_ = first + num_mcus;
    } else {
        uint8_t *to = clean_.data() + clean_used_;
        clean_used_ += static_cast<size_t>(scan_->copy(segment, to, run.bits) - to);
    }
    if (stands_at < first &&
        !kernels().skip_mcus(run.bits, scan_->dc(), scan_->ac(), scan_->layout(), first - stands_at))
        return false;
    const auto before = static_cast<size_t>((first - first_of_row) * scan_->layout().num_blocks);
    run.num_mcus = num_mcus;
    run.coefficients = coefficients_.data() + before * 64;
    run.ends = ends_.data() + before;
    runs_.push_back(run);
    return true;
}

// Upsampling at the edge of the image looks at its last sample twice.
void RegionDecoder::repeat_edges(const Plane &plane, int mcu_row) const {
    for (int i = 0; i < 8; i++) {
        const int row = 8 * mcu_row + i;
        if (plane.first == 0) *plane.row(row, -1) = *plane.row(row, 0);
        const int last = plane.width - 1;
        if (last < plane.first + 8 * num_mcus_) *plane.row(row, last + 1) = *plane.row(row, last);
    }
}

} // namespace danlu
