// Threads that turn records into batches.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "jpeg.h"
#include "plan.h"

namespace danlu {

// The Python twin of this layout is ITEM in records/native_engine.py.
struct Item {
    int32_t fd;
    uint32_t length;      // of the record's data
    uint64_t offset;      // of the record in its shard
    uint32_t image_at, image_bytes;
    uint64_t key;         // of the random numbers
};
static_assert(sizeof(Item) == 32, "no padding: Python writes it");

struct Batch {
    std::vector<Item> items;
    Recipe recipe;
    bool verify = true;
    uint8_t *out = nullptr;
    size_t image_bytes = 0; // of one finished image
    Status *status = nullptr;
    Geometry *geometry = nullptr;
    size_t left = 0;        // guarded by the pool's mutex
    std::atomic<bool> cancelled{false};
};

struct Statistics {
    std::atomic<int64_t> images{0}, bytes{0}, failed{0}, library_huffman{0}, sliced{0}, library_pixels{0};
    std::atomic<int64_t> read_ns{0}, verify_ns{0}, decode_ns{0}, idle_ns{0};
};

class Pool {
  public:
    // `readers` > 0: so many threads of their own read ahead, for storage where a read waits.
    Pool(int threads, int readers);
    ~Pool();

    // The pool owns a batch until `wait` returns; the memory it points to must stay until then, or until the pool is gone.
    uint64_t submit(std::unique_ptr<Batch> batch);
    void wait(uint64_t number);
    void cancel(uint64_t number); // the rest of it is skipped; still to be waited for
    const Statistics &statistics() const { return statistics_; }

  private:
    struct Job {
        Batch *batch = nullptr;
        size_t position = 0;
        std::vector<uint8_t> record; // filled by a reader
        int read_error = 0;
        bool is_read = false;
    };
    bool next_to_read(Job &job);
    bool next_to_decode(Job &job);
    void read_loop();
    void decode_loop();
    void process(Job &job, Decoder &decoder, std::vector<uint8_t> &record);

    const bool has_readers_;
    const size_t max_ready_;
    std::mutex mutex_;
    std::condition_variable work_, ready_room_, done_;
    std::map<uint64_t, std::unique_ptr<Batch>> batches_;
    uint64_t next_number_ = 0;
    std::deque<Batch *> waiting_; // batches not wholly handed out
    size_t next_position_ = 0;
    std::deque<Job> ready_; // read, not decoded
    bool stopping_ = false;
    Statistics statistics_;
    std::vector<std::thread> threads_;
};

// Read and verify one record; `buffer` then holds it with its framing.
int read_record(const Item &item, std::vector<uint8_t> &buffer);
bool verify_record(const Item &item, const std::vector<uint8_t> &buffer, bool checksums);

} // namespace danlu
