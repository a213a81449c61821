/* A read-only file system that shows a folder and lets every read request wait, as storage behind a network does.
   usage: slowfs FOLDER MOUNTPOINT -o ... ; delay in microseconds from SLOWFS_DELAY_US.
   Only reads wait: names and sizes are answered at once, which favours many small files. The kernel reads ahead as it does
   on any file system; what it has is thrown away when a file is opened, so nothing stays cached between epochs. */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[PATH_MAX];
static useconds_t delay_us = 5000;

static void real_path(char *to, const char *path) { snprintf(to, PATH_MAX, "%s%s", root, path); }

static int do_getattr(const char *path, struct stat *st, struct fuse_file_info *info) {
    char real[PATH_MAX];
    (void)info;
    real_path(real, path);
    return lstat(real, st) ? -errno : 0;
}

static int do_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
                      enum fuse_readdir_flags flags) {
    char real[PATH_MAX];
    (void)offset;
    (void)info;
    (void)flags;
    real_path(real, path);
    DIR *dir = opendir(real);
    if (!dir) return -errno;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        struct stat st = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
        fill(buffer, entry->d_name, &st, 0, 0);
    }
    closedir(dir);
    return 0;
}

static int do_open(const char *path, struct fuse_file_info *info) {
    char real[PATH_MAX];
    real_path(real, path);
    int fd = open(real, O_RDONLY);
    if (fd < 0) return -errno;
    info->fh = (uint64_t)fd;
    return 0;
}

static int do_read(const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *info) {
    (void)path;
    usleep(delay_us);
    ssize_t got = pread((int)info->fh, buffer, size, offset);
    return got < 0 ? -errno : (int)got;
}

static int do_release(const char *path, struct fuse_file_info *info) {
    (void)path;
    close((int)info->fh);
    return 0;
}

static void *do_init(struct fuse_conn_info *connection, struct fuse_config *config) {
    connection->max_read = 1 << 20;
    config->entry_timeout = config->attr_timeout = 3600;
    return NULL;
}

static const struct fuse_operations operations = {.getattr = do_getattr,
                                                  .readdir = do_readdir,
                                                  .open = do_open,
                                                  .read = do_read,
                                                  .release = do_release,
                                                  .init = do_init};

int main(int argc, char **argv) {
    if (argc < 3 || !realpath(argv[1], root)) {
        fprintf(stderr, "usage: slowfs FOLDER MOUNTPOINT [options]\n");
        return 2;
    }
    if (getenv("SLOWFS_DELAY_US")) delay_us = (useconds_t)atoi(getenv("SLOWFS_DELAY_US"));
    argv[1] = argv[0];
    return fuse_main(argc - 1, argv + 1, &operations, NULL);
}
