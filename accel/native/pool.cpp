#include "pool.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <unistd.h>

#include "crc32c.h"

namespace danlu {

namespace {

constexpr size_t head_bytes = 12, foot_bytes = 4;

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A new batch wakes threads that have slept; by default the kernel then takes the processor from the training loop in the
// middle of asking for it, and gives it back milliseconds later. Batch threads get the same share without doing that.
void let_training_go_first() {
#if defined(SCHED_BATCH)
    sched_param parameters{};
    sched_setscheduler(0, SCHED_BATCH, &parameters); // of this thread only; where it is not allowed nothing is lost
#endif
}

uint32_t load32(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16 | static_cast<uint32_t>(p[3]) << 24; }

} // namespace

int read_record(const Item &item, std::vector<uint8_t> &buffer) {
    const size_t size = item.length + head_bytes + foot_bytes;
    if (buffer.size() < size) buffer.resize(size);
    size_t have = 0;
    while (have < size) {
        const ssize_t got = pread(item.fd, buffer.data() + have, size - have, static_cast<off_t>(item.offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) return ENODATA; // the shard ends here
        have += static_cast<size_t>(got);
    }
    return 0;
}

bool verify_record(const Item &item, const std::vector<uint8_t> &buffer, bool checksums) {
    const uint8_t *p = buffer.data();
    const uint64_t length = load32(p) | static_cast<uint64_t>(load32(p + 4)) << 32;
    if (length != item.length) return false;
    if (static_cast<uint64_t>(item.image_at) + item.image_bytes > item.length) return false;
    if (!checksums) return true;
    return masked(crc32c(p, 8)) == load32(p + 8) &&
           masked(crc32c(p + head_bytes, item.length)) == load32(p + head_bytes + item.length);
}

Pool::Pool(int threads, int readers) : has_readers_(readers > 0), max_ready_(static_cast<size_t>(readers) * 2 + 32) {
    own_parts(); // found out before any thread asks
    for (int i = 0; i < readers; i++) threads_.emplace_back([this] { read_loop(); });
    for (int i = 0; i < threads; i++) threads_.emplace_back([this] { decode_loop(); });
}

Pool::~Pool() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
    }
    work_.notify_all();
    ready_room_.notify_all();
    done_.notify_all();
    for (std::thread &thread : threads_) thread.join();
}

uint64_t Pool::submit(std::unique_ptr<Batch> batch) {
    batch->left = batch->items.size();
    uint64_t number;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        number = next_number_++;
        if (!batch->items.empty()) waiting_.push_back(batch.get());
        batches_[number] = std::move(batch);
    }
    work_.notify_all();
    ready_room_.notify_all();
    return number;
}

void Pool::wait(uint64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto found = batches_.find(number);
    if (found == batches_.end()) return;
    done_.wait(lock, [&] { return found->second->left == 0 || stopping_; });
    if (!stopping_) batches_.erase(found);
}

void Pool::cancel(uint64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = batches_.find(number);
    if (found != batches_.end()) found->second->cancelled = true;
}

// Both need mutex_ held; false when there is nothing now.
bool Pool::next_to_read(Job &job) {
    if (waiting_.empty()) return false;
    job.batch = waiting_.front();
    job.position = next_position_++;
    if (next_position_ == job.batch->items.size()) {
        waiting_.pop_front();
        next_position_ = 0;
    }
    return true;
}

bool Pool::next_to_decode(Job &job) {
    if (!has_readers_) return next_to_read(job);
    if (ready_.empty()) return false;
    job = std::move(ready_.front());
    ready_.pop_front();
    ready_room_.notify_one();
    return true;
}

void Pool::read_loop() {
    let_training_go_first();
    while (true) {
        Job job;
        {
            std::unique_lock<std::mutex> lock(mutex_);
            ready_room_.wait(lock, [&] { return stopping_ || (ready_.size() < max_ready_ && !waiting_.empty()); });
            if (stopping_) return;
            next_to_read(job);
        }
        const int64_t start = now_ns();
        if (!job.batch->cancelled) job.read_error = read_record(job.batch->items[job.position], job.record);
        job.is_read = true;
        statistics_.read_ns += now_ns() - start;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            ready_.push_back(std::move(job));
        }
        work_.notify_one();
    }
}

void Pool::decode_loop() {
    let_training_go_first();
    Decoder decoder;
    decoder.allow(own_parts());
    std::vector<uint8_t> record;
    while (true) {
        Job job;
        {
            std::unique_lock<std::mutex> lock(mutex_);
            if (!stopping_ && !next_to_decode(job)) {
                const int64_t start = now_ns();
                work_.wait(lock, [&] { return stopping_ || next_to_decode(job); });
                statistics_.idle_ns += now_ns() - start;
            }
            if (stopping_) return;
        }
        process(job, decoder, record);
        // Under the lock: once the count is zero, `wait` may throw the batch away.
        std::lock_guard<std::mutex> lock(mutex_);
        if (--job.batch->left == 0) done_.notify_all();
    }
}

void Pool::process(Job &job, Decoder &decoder, std::vector<uint8_t> &record) {
    Batch &batch = *job.batch;
    if (batch.cancelled) return;
    const Item &item = batch.items[job.position];
    const int64_t start = now_ns();
    if (!job.is_read)
        job.read_error = read_record(item, record);
    else
        record.swap(job.record);
    const int64_t read = now_ns();
    Status status = job.read_error ? Status::read_failed : Status::ok;
    if (status == Status::ok && !verify_record(item, record, batch.verify)) status = Status::bad_record;
    const int64_t verified = now_ns();
    if (status == Status::ok) {
        uint8_t *place = batch.out + batch.image_bytes * job.position;
        const Output out{batch.recipe.normalise ? reinterpret_cast<float *>(place) : nullptr,
                         batch.recipe.normalise ? nullptr : place};
        const uint8_t *image = record.data() + head_bytes + item.image_at;
        decoder.counts = DecodeCounts{};
        status = decoder.run(image, item.image_bytes, batch.recipe, item.key, out, batch.geometry[job.position]);
        statistics_.library_huffman += decoder.counts.library_huffman;
        statistics_.sliced += decoder.counts.sliced;
        statistics_.library_pixels += decoder.counts.library_pixels;
    }
    batch.status[job.position] = status;
    statistics_.images++;
    statistics_.bytes += item.length;
    statistics_.failed += status != Status::ok;
    if (!job.is_read) statistics_.read_ns += read - start;
    statistics_.verify_ns += verified - read;
    statistics_.decode_ns += now_ns() - verified;
}

} // namespace danlu
