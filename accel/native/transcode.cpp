#include "jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <jpeglib.h>

namespace danlu {

namespace {

struct ErrorManager {
    jpeg_error_mgr base;
    jmp_buf jump;
};

void on_error(j_common_ptr c) { longjmp(reinterpret_cast<ErrorManager *>(c->err)->jump, 1); }
// A warning means that libjpeg had to guess: then the file is better left alone.
void on_message(j_common_ptr c, int level) {
    if (level < 0) on_error(c);
}

// libjpeg writes JFIF and Adobe markers itself; a second copy would confuse readers.
bool is_written_by_library(const jpeg_compress_struct &to, const jpeg_saved_marker_ptr &marker) {
    const bool is_jfif = marker->marker == JPEG_APP0 && marker->data_length >= 5 && !std::memcmp(marker->data, "JFIF", 5);
    const bool is_adobe = marker->marker == JPEG_APP0 + 14 && marker->data_length >= 5 && !std::memcmp(marker->data, "Adobe", 5);
    return (to.write_JFIF_header && is_jfif) || (to.write_Adobe_marker && is_adobe);
}

// Owns what must be freed however we leave; setjmp forbids anything smarter between it and longjmp.
struct Work {
    jpeg_decompress_struct from;
    jpeg_compress_struct to;
    ErrorManager errors;
    unsigned char *data = nullptr;
    unsigned long size = 0;

    Work() {
        from.err = to.err = jpeg_std_error(&errors.base);
        errors.base.error_exit = on_error;
        errors.base.emit_message = on_message;
        jpeg_create_decompress(&from);
        jpeg_create_compress(&to);
    }
    ~Work() {
        jpeg_destroy_compress(&to);
        jpeg_destroy_decompress(&from);
        std::free(data);
    }
};

// A progressive file may end before every coefficient is exact; decoders then smooth, which a baseline file would not get.
bool is_complete(const jpeg_decompress_struct &from) {
    if (!from.progressive_mode || !from.coef_bits) return true;
    for (int component = 0; component < from.num_components; component++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (from.coef_bits[component][k] != 0) return false;
    return true;
}

bool rewrite(Work &w, const uint8_t *jpeg, size_t size, int segment_mcus, bool keep_metadata) {
    if (setjmp(w.errors.jump)) return false;
    jpeg_mem_src(&w.from, jpeg, size);
    if (keep_metadata) {
        jpeg_save_markers(&w.from, JPEG_COM, 0xFFFF);
        for (int app = 0; app < 16; app++) jpeg_save_markers(&w.from, JPEG_APP0 + app, 0xFFFF);
    }
    jpeg_read_header(&w.from, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&w.from);
    if (!is_complete(w.from)) return false;
    jpeg_mem_dest(&w.to, &w.data, &w.size);
    jpeg_copy_critical_parameters(&w.from, &w.to);
    w.to.optimize_coding = TRUE;
    w.to.restart_interval = static_cast<unsigned>(segment_mcus);
    jpeg_write_coefficients(&w.to, coefficients);
    for (jpeg_saved_marker_ptr marker = w.from.marker_list; marker; marker = marker->next)
        if (!is_written_by_library(w.to, marker)) jpeg_write_marker(&w.to, marker->marker, marker->data, marker->data_length);
    jpeg_finish_compress(&w.to);
    jpeg_finish_decompress(&w.from);
    return true;
}

} // namespace

std::vector<uint8_t> transcode(const uint8_t *jpeg, size_t size, int segment_mcus, bool keep_metadata) {
    Work work;
    if (!rewrite(work, jpeg, size, segment_mcus, keep_metadata)) return {};
    return std::vector<uint8_t>(work.data, work.data + work.size);
}

} // namespace danlu
