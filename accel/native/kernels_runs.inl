// Several runs of MCUs at a time. One run alone leaves most of a processor idle, because each symbol's place depends on
// the length of the one before; two lanes with nothing in common fill the gaps.

#define DANLU_INLINE inline __attribute__((always_inline))

// Lives in registers: all its functions are inlined, and nothing takes its address.
struct Lane {
    const uint8_t *next;
    uint64_t bits;
    int count;
    uint32_t k; // where the next coefficient goes
    const HuffmanTable *ac;
    int16_t *block;
    Run *run;
    int number, blocks_left; // of the block in its MCU; in the run

    DANLU_INLINE void refill() {
        bits |= load_big_endian(next) >> count;
        next += (63 - count) >> 3;
        count |= 56;
    }

    // The DC coefficient; leaves at least 29 bits, enough for one more symbol.
    DANLU_INLINE bool start_block(const HuffmanTable *dc, const HuffmanTable *ac_tables, const McuLayout &layout) {
        refill();
        const HuffmanTable &table = dc[layout.dc_table[number]];
        uint32_t entry = table.lookup[bits >> (64 - lookup_bits)];
        if (__builtin_expect(entry == 0, 0)) {
            entry = long_code(table, bits, true);
            if (entry == 0) return false;
        }
        const uint32_t total = entry & 63;
        int16_t &prediction = run->bits.prediction[layout.component[number]];
        prediction = (int16_t)(prediction + value_of(bits, total, entry >> 6 & 15));
        block[0] = prediction;
        bits <<= total;
        count -= (int)total;
        ac = &ac_tables[layout.ac_table[number]];
        k = 1;
        return true;
    }

    DANLU_INLINE bool open(Run &r, const HuffmanTable *dc, const HuffmanTable *ac_tables, const McuLayout &layout) {
        run = &r;
        next = r.bits.next;
        bits = r.bits.bits;
        count = r.bits.count;
        block = r.coefficients;
        number = 0;
        blocks_left = r.num_mcus * layout.num_blocks;
        return start_block(dc, ac_tables, layout);
    }

    DANLU_INLINE void close() {
        run->bits.next = next;
        run->bits.bits = bits;
        run->bits.count = count;
    }
};

enum class Step { more, run_done, irregular };

// What to do when a block is full or has ended; `advance` is that of the symbol that ended it.
DANLU_INLINE Step end_block(Lane &lane, uint32_t advance, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &layout) {
    if (lane.k != 64 && advance != 63) return Step::irregular; // a run of zeros that leads out of the block
    if (lane.next - (lane.count >> 3) > lane.run->bits.end) return Step::irregular; // more bits used than there are
    *lane.run->ends++ = (uint8_t)(lane.k == 64 ? 64 : lane.k - 64);
    lane.block += 64;
    if (++lane.number == layout.num_blocks) lane.number = 0;
    if (--lane.blocks_left == 0) return Step::run_done;
    return lane.start_block(dc, ac, layout) ? Step::more : Step::irregular;
}

DANLU_INLINE Step one_symbol(Lane &lane, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &layout) {
    const QuickSymbol &quick = lane.ac->quick[lane.bits >> (64 - quick_bits)];
    uint32_t total = quick.total, advance = quick.advance;
    int16_t value = quick.value;
    if (__builtin_expect(total == 0, 0)) {
        uint32_t entry = lane.ac->lookup[lane.bits >> (64 - lookup_bits)];
        if (entry == 0) entry = long_code(*lane.ac, lane.bits, false);
        if (entry == 0) return Step::irregular;
        total = entry & 63;
        advance = entry >> 10;
        value = (int16_t)value_of(lane.bits, total, entry >> 6 & 15);
    }
    lane.k += advance;
    lane.block[natural_order[lane.k]] = value;
    lane.bits <<= total;
    lane.count -= (int)total;
    if (__builtin_expect(++lane.k <= 63, 1)) return Step::more;
    return end_block(lane, advance, dc, ac, layout);
}

bool decode_runs(Run *runs, int num_runs, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &layout) {
    if (num_runs == 0) return true;
    Lane a, b;
    int taken = 1;
    if (!a.open(runs[0], dc, ac, layout)) return false;
    if (num_runs > 1) {
        if (!b.open(runs[taken++], dc, ac, layout)) return false;
        while (true) {
            // 56 bits hold two symbols of at most 16 + 10 bits, or what start_block leaves and one symbol.
            a.refill();
            b.refill();
#define DANLU_STEP(lane, other)                                                \
    {                                                                          \
        const Step step = one_symbol(lane, dc, ac, layout);                    \
        if (__builtin_expect(step != Step::more, 0)) {                         \
            if (step == Step::irregular) return false;                         \
            lane.close();                                                      \
            if (taken == num_runs) {                                           \
                a = other;                                                     \
                break;                                                         \
            }                                                                  \
            if (!lane.open(runs[taken++], dc, ac, layout)) return false;       \
        }                                                                      \
    }
            DANLU_STEP(a, b)
            DANLU_STEP(b, a)
            DANLU_STEP(a, b)
            DANLU_STEP(b, a)
#undef DANLU_STEP
        }
    }
    while (true) {
        a.refill();
        for (int turn = 0; turn < 2; turn++) {
            const Step step = one_symbol(a, dc, ac, layout);
            if (__builtin_expect(step != Step::more, 0)) {
                if (step == Step::run_done) a.close();
                return step == Step::run_done;
            }
        }
    }
}
