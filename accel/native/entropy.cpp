#include "entropy.h"

namespace danlu {

namespace {

// The first members of libjpeg's `struct jpeg_entropy_decoder`, unchanged since libjpeg 6b. jpegint.h is not installed,
// so the layout is repeated here; own_parts() proves it against the library that is really there.
struct EntropyInterface {
    void (*start_pass)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
    boolean insufficient_data;
};

boolean decode_mcu_hook(j_decompress_ptr c, JBLOCKROW *blocks) {
    return static_cast<EntropyDecoder *>(c->client_data)->on_mcu(blocks);
}

} // namespace

void EntropyDecoder::install(jpeg_decompress_struct &c, const Scan &scan) {
    scan_ = &scan;
    irregular_ = false;
    mcu_ = reached_ = 0;
    segment_ = -1;
    column_ = 0;
    columns_ = static_cast<int>(c.MCUs_per_row);
    want_columns(0, columns_ - 1);
    c.client_data = this;
    reinterpret_cast<EntropyInterface *>(c.entropy)->decode_mcu = decode_mcu_hook;
}

bool EntropyDecoder::enter(int64_t segment) {
    if (!scan_->has(segment)) return false;
    const size_t room = scan_->room_for(segment);
    if (clean_.size() < room) clean_.resize(room + room / 2 + 4096);
    scan_->copy(segment, clean_.data(), bits_);
    segment_ = segment;
    reached_ = segment * scan_->interval();
    return true;
}

boolean EntropyDecoder::on_mcu(JBLOCKROW *blocks) {
    const int64_t mcu = mcu_++;
    const int column = column_++;
    if (column_ == columns_) column_ = 0;
    if (!blocks || irregular_ || column < first_column_ || column > last_column_) return TRUE;
    const int64_t wanted = scan_->interval() ? mcu / scan_->interval() : 0;
    if (wanted != segment_ && !enter(wanted)) {
        irregular_ = true;
        return TRUE;
    }
    int16_t *to[10];
    for (int b = 0; b < scan_->layout().num_blocks; b++) to[b] = blocks[b][0];
    const Kernels &k = kernels();
    irregular_ = (reached_ < mcu && !k.skip_mcus(bits_, scan_->dc(), scan_->ac(), scan_->layout(), mcu - reached_)) ||
                 !k.decode_mcu(bits_, scan_->dc(), scan_->ac(), scan_->layout(), to);
    reached_ = mcu + 1;
    return TRUE;
}

} // namespace danlu
