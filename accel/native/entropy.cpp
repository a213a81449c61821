#include "entropy.h"

#include <cstring>

namespace danlu {

namespace {

// The first members of libjpeg's `struct jpeg_entropy_decoder`, unchanged since libjpeg 6b. jpegint.h is not installed,
// so the layout is repeated here; own_huffman_works() proves it against the library that is really there.
struct EntropyInterface {
    void (*start_pass)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
    boolean insufficient_data;
};

boolean decode_mcu_hook(j_decompress_ptr c, JBLOCKROW *blocks) {
    return static_cast<EntropyDecoder *>(c->client_data)->on_mcu(blocks);
}

// Fill one table; false if a symbol asks for more bits than baseline JPEG allows.
bool build(const JHUFF_TBL &source, bool is_dc, HuffmanTable &table) {
    std::memset(table.lookup, 0, sizeof table.lookup);
    std::memcpy(table.values, source.huffval, 256);
    int code = 0, at = 0;
    for (int length = 1; length <= 16; length++) {
        table.value_offset[length] = at - code;
        for (int i = 0; i < source.bits[length]; i++, code++, at++) {
            if (at > 255 || code >= 1 << length) return false;
            const int symbol = source.huffval[at];
            const int size = is_dc ? symbol : symbol & 15;
            if (size > (is_dc ? 11 : 10)) return false;
            if (length > lookup_bits) continue;
            const int run = is_dc ? 0 : size ? symbol >> 4 : symbol == 0xF0 ? 15 : 63;
            const auto entry = static_cast<uint16_t>((length + size) | size << 6 | run << 10);
            const int spread = lookup_bits - length;
            uint16_t *to = table.lookup + (code << spread);
            for (int k = 0; k < 1 << spread; k++) to[k] = entry;
        }
        table.max_code[length] = code << (16 - length);
        code <<= 1;
    }
    table.max_code[17] = 0x7FFFFFFF;
    return true;
}

bool load(const JHUFF_TBL *wanted, bool is_dc, HuffmanTable &table, JHUFF_TBL &source) {
    if (!wanted) return false;
    if (!std::memcmp(source.bits, wanted->bits, 17) && !std::memcmp(source.huffval, wanted->huffval, 256)) return true;
    std::memset(source.bits, 0, 17); // if building fails the cache must not match
    std::memset(source.huffval, 255, 256);
    if (!build(*wanted, is_dc, table)) return false;
    std::memcpy(source.bits, wanted->bits, 17);
    std::memcpy(source.huffval, wanted->huffval, 256);
    return true;
}

} // namespace

bool EntropyDecoder::install(jpeg_decompress_struct &c) {
    irregular_ = false;
    if (c.progressive_mode || c.arith_code || c.data_precision != 8 || jpeg_has_multiple_scans(&c)) return false;
    if (c.comps_in_scan != c.num_components || c.blocks_in_MCU > 10) return false;
    if (c.num_components == 1 && (c.comp_info[0].h_samp_factor != 1 || c.comp_info[0].v_samp_factor != 1)) return false;
    scan_ = c.src->next_input_byte;
    scan_bytes_ = c.src->bytes_in_buffer;
    if (scan_bytes_ >= 0xFFFFFFFFu) return false;
    interval_ = c.restart_interval;
    if (!load_tables(c) || !find_segments()) return false;
    mcu_ = reached_ = 0;
    segment_ = -1;
    column_ = 0;
    columns_ = static_cast<int>(c.MCUs_per_row);
    want_columns(0, columns_ - 1);
    c.client_data = this;
    reinterpret_cast<EntropyInterface *>(c.entropy)->decode_mcu = decode_mcu_hook;
    return true;
}

bool EntropyDecoder::load_tables(jpeg_decompress_struct &c) {
    layout_.num_blocks = c.blocks_in_MCU;
    for (int b = 0; b < c.blocks_in_MCU; b++) {
        const int component = c.MCU_membership[b];
        const jpeg_component_info *info = c.cur_comp_info[component];
        if (info->dc_tbl_no < 0 || info->dc_tbl_no > 3 || info->ac_tbl_no < 0 || info->ac_tbl_no > 3) return false;
        layout_.component[b] = static_cast<uint8_t>(component);
        layout_.dc_table[b] = static_cast<uint8_t>(info->dc_tbl_no);
        layout_.ac_table[b] = static_cast<uint8_t>(info->ac_tbl_no);
        if (!load(c.dc_huff_tbl_ptrs[info->dc_tbl_no], true, dc_[info->dc_tbl_no], dc_source_[info->dc_tbl_no])) return false;
        if (!load(c.ac_huff_tbl_ptrs[info->ac_tbl_no], false, ac_[info->ac_tbl_no], ac_source_[info->ac_tbl_no])) return false;
    }
    return true;
}

// Cut the scan at its restart markers. Markers out of sequence or fill bytes are libjpeg's to deal with.
bool EntropyDecoder::find_segments() {
    const Kernels &k = kernels();
    segments_.clear();
    size_t num_ff = 0, scanned = 0;
    while (scanned < scan_bytes_) {
        if (ff_positions_.size() < num_ff + 4096) ff_positions_.resize(num_ff + num_ff / 2 + 8192);
        num_ff += k.find_ff(scan_, scanned, scan_bytes_, &ff_positions_[num_ff], ff_positions_.size() - num_ff, &scanned);
    }
    Segment open{0, 0, 0, 0};
    for (size_t i = 0; i < num_ff; i++) {
        const size_t at = ff_positions_[i];
        if (at + 1 == scan_bytes_) return false;
        const int code = scan_[at + 1];
        if (code == 0) continue;
        open.end = static_cast<uint32_t>(at);
        open.last_ff = static_cast<uint32_t>(i);
        segments_.push_back(open);
        if (code < 0xD0 || code > 0xD7) return code == 0xD9; // the end of the image; DNL and the like are not for us
        if (interval_ == 0 || code - 0xD0 != static_cast<int>((segments_.size() - 1) & 7)) return false;
        open.begin = static_cast<uint32_t>(at + 2);
        open.first_ff = static_cast<uint32_t>(i + 1);
    }
    return false; // no end marker: the file was cut
}

// Copy a segment without its stuffing, zeros behind it, and stand at its first bit.
bool EntropyDecoder::enter(int64_t number) {
    if (number >= static_cast<int64_t>(segments_.size())) return false;
    const Segment &segment = segments_[static_cast<size_t>(number)];
    const size_t size = segment.end - segment.begin;
    if (clean_.size() < size + entropy_padding) clean_.resize(size + size / 2 + entropy_padding + 4096);
    uint8_t *to = clean_.data();
    size_t from = segment.begin;
    for (uint32_t i = segment.first_ff; i < segment.last_ff; i++) {
        const size_t run = ff_positions_[i] + 1 - from;
        std::memcpy(to, scan_ + from, run);
        to += run;
        from = ff_positions_[i] + 2;
    }
    if (from < segment.end) {
        std::memcpy(to, scan_ + from, segment.end - from);
        to += segment.end - from;
    }
    std::memset(to, 0, entropy_padding);
    bits_ = BitState{};
    bits_.next = clean_.data();
    bits_.end = to;
    segment_ = number;
    reached_ = interval_ ? number * interval_ : 0;
    return true;
}

boolean EntropyDecoder::on_mcu(JBLOCKROW *blocks) {
    const int64_t mcu = mcu_++;
    const int column = column_++;
    if (column_ == columns_) column_ = 0;
    if (!blocks || irregular_ || column < first_column_ || column > last_column_) return TRUE;
    const int64_t wanted = interval_ ? mcu / interval_ : 0;
    if (wanted != segment_ && !enter(wanted)) {
        irregular_ = true;
        return TRUE;
    }
    int16_t *to[10];
    for (int b = 0; b < layout_.num_blocks; b++) to[b] = blocks[b][0];
    const Kernels &k = kernels();
    irregular_ = (reached_ < mcu && !k.skip_mcus(bits_, dc_, ac_, layout_, mcu - reached_)) ||
                 !k.decode_mcu(bits_, dc_, ac_, layout_, to);
    reached_ = mcu + 1;
    return TRUE;
}

} // namespace danlu
