#include "scan.h"

#include <cstring>

namespace danlu {

namespace {

// All values that can follow a code of `length` bits, each with all that can follow it.
void fill_quick(HuffmanTable &table, int code, int length, int size, int advance) {
    const int spread = quick_bits - length - size;
    if (spread < 0) return;
    QuickSymbol *to = table.quick + (code << (size + spread));
    for (int raw = 0; raw < 1 << size; raw++) {
        const int value = size == 0 ? 0 : raw >> (size - 1) ? raw : raw + 1 - (1 << size);
        const QuickSymbol symbol{static_cast<uint8_t>(length + size), static_cast<uint8_t>(advance), static_cast<int16_t>(value)};
        for (int k = 0; k < 1 << spread; k++) *to++ = symbol;
    }
}

// Fill one table; false if a symbol asks for more bits than baseline JPEG allows.
bool build(const JHUFF_TBL &source, bool is_dc, HuffmanTable &table) {
    std::memset(table.lookup, 0, sizeof table.lookup);
    std::memset(table.quick, 0, sizeof table.quick);
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
            if (!is_dc) fill_quick(table, code, length, size, run);
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

bool Scan::open(jpeg_decompress_struct &c) {
    if (c.progressive_mode || c.arith_code || c.data_precision != 8 || jpeg_has_multiple_scans(&c)) return false;
    if (c.comps_in_scan != c.num_components) return false;
    if (c.num_components == 1 && (c.comp_info[0].h_samp_factor != 1 || c.comp_info[0].v_samp_factor != 1)) return false;
    data_ = c.src->next_input_byte;
    num_bytes_ = c.src->bytes_in_buffer;
    if (num_bytes_ >= 0xFFFFFFFFu) return false;
    interval_ = c.restart_interval;
    return load_tables(c) && find_segments();
}

bool Scan::load_tables(jpeg_decompress_struct &c) {
    int num_blocks = 0;
    for (int i = 0; i < c.comps_in_scan; i++) {
        const jpeg_component_info *info = c.cur_comp_info[i];
        const int blocks = c.comps_in_scan == 1 ? 1 : info->h_samp_factor * info->v_samp_factor;
        if (info->dc_tbl_no < 0 || info->dc_tbl_no > 3 || info->ac_tbl_no < 0 || info->ac_tbl_no > 3) return false;
        if (num_blocks + blocks > max_mcu_blocks) return false;
        for (int b = num_blocks; b < num_blocks + blocks; b++) {
            layout_.component[b] = static_cast<uint8_t>(i);
            layout_.dc_table[b] = static_cast<uint8_t>(info->dc_tbl_no);
            layout_.ac_table[b] = static_cast<uint8_t>(info->ac_tbl_no);
        }
        num_blocks += blocks;
        if (!load(c.dc_huff_tbl_ptrs[info->dc_tbl_no], true, dc_[info->dc_tbl_no], dc_source_[info->dc_tbl_no])) return false;
        if (!load(c.ac_huff_tbl_ptrs[info->ac_tbl_no], false, ac_[info->ac_tbl_no], ac_source_[info->ac_tbl_no])) return false;
    }
    layout_.num_blocks = num_blocks;
    return true;
}

// Cut the scan at its restart markers. Markers out of sequence or fill bytes are libjpeg's to deal with.
bool Scan::find_segments() {
    const Kernels &k = kernels();
    segments_.clear();
    size_t num_ff = 0, scanned = 0;
    while (scanned < num_bytes_) {
        if (ff_positions_.size() < num_ff + 4096) ff_positions_.resize(num_ff + num_ff / 2 + 8192);
        num_ff += k.find_ff(data_, scanned, num_bytes_, &ff_positions_[num_ff], ff_positions_.size() - num_ff, &scanned);
    }
    Segment open{0, 0, 0, 0};
    for (size_t i = 0; i < num_ff; i++) {
        const size_t at = ff_positions_[i];
        if (at + 1 == num_bytes_) return false;
        const int code = data_[at + 1];
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

uint8_t *Scan::copy(int64_t number, uint8_t *to, BitState &bits) const {
    const Segment &segment = at(number);
    bits = BitState{};
    bits.next = to;
    size_t from = segment.begin;
    for (uint32_t i = segment.first_ff; i < segment.last_ff; i++) {
        const size_t run = ff_positions_[i] + 1 - from;
        std::memcpy(to, data_ + from, run);
        to += run;
        from = ff_positions_[i] + 2;
    }
    if (from < segment.end) {
        std::memcpy(to, data_ + from, segment.end - from);
        to += segment.end - from;
    }
    bits.end = to;
    std::memset(to, 0, entropy_padding);
    return to + entropy_padding;
}

} // namespace danlu
