// Batches, cancelling and stopping under many threads; meant for ThreadSanitizer and AddressSanitizer.
//   pool_check FILE...      (fuzz corpus files: two bytes of choice, then an image)
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "crc32c.h"
#include "pool.h"

using namespace danlu;

namespace {

void append(std::vector<uint8_t> &to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

} // namespace

int main(int argc, char **argv) {
    std::vector<uint8_t> shard;
    std::vector<Item> items;
    for (int i = 1; i < argc; i++) {
        std::ifstream file(argv[i], std::ios::binary);
        std::vector<uint8_t> image(std::istreambuf_iterator<char>(file), {});
        image.erase(image.begin(), image.begin() + 2);
        std::vector<uint8_t> length;
        append(length, image.size(), 8);
        const auto size = static_cast<uint32_t>(image.size());
        items.push_back({0, size, shard.size(), 0, size, static_cast<uint64_t>(i)});
        shard.insert(shard.end(), length.begin(), length.end());
        append(shard, masked(crc32c(length.data(), 8)), 4);
        shard.insert(shard.end(), image.begin(), image.end());
        append(shard, masked(crc32c(image.data(), image.size())), 4);
    }
    std::FILE *file = std::tmpfile();
    if (!file || std::fwrite(shard.data(), 1, shard.size(), file) != shard.size()) return 2;
    std::fflush(file);
    for (Item &item : items) item.fd = fileno(file);

    Recipe recipe;
    recipe.crop = Crop::random_resized;
    recipe.out_width = recipe.out_height = 32;
    recipe.normalise = 0;
    const size_t image_bytes = 32 * 32 * 3;
    size_t good = 0;
    for (int round = 0; round < 60; round++) {
        struct Memory {
            std::vector<uint8_t> out;
            std::vector<Status> status;
            std::vector<Geometry> geometry;
        };
        std::vector<Memory> memory(6);
        Pool pool(1 + round % 5, round % 3 * 2); // gone before the memory it writes to
        std::vector<uint64_t> numbers;
        for (Memory &m : memory) {
            m.out.resize(items.size() * image_bytes);
            m.status.resize(items.size());
            m.geometry.resize(items.size());
            auto batch = std::make_unique<Batch>();
            batch->items = items;
            batch->recipe = recipe;
            batch->out = m.out.data();
            batch->image_bytes = image_bytes;
            batch->status = m.status.data();
            batch->geometry = m.geometry.data();
            numbers.push_back(pool.submit(std::move(batch)));
        }
        if (round % 4 == 1) pool.cancel(numbers[4]);
        for (size_t i = 0; i < numbers.size(); i++)
            if (round % 4 != 3 || i < 2) pool.wait(numbers[i]); // every fourth pool is stopped with work left
        for (Status status : memory[0].status) good += status == Status::ok;
    }
    std::printf("%zu images\n", good);
    return good ? 0 : 1;
}
