/* Cuts the power of one ext4 filesystem: it writes nothing any more, and its log is not flushed, so that
   what was not synced is gone at the next mount. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

/* Linux: fs/ext4/ext4.h. */
#define EXT4_IOC_SHUTDOWN _IOR('X', 125, uint32_t)
#define EXT4_GOING_FLAGS_NOLOGFLUSH 2

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: cut MOUNTPOINT\n");
        return 2;
    }
    uint32_t flags = EXT4_GOING_FLAGS_NOLOGFLUSH;
    int directory = open(arguments[1], O_RDONLY | O_DIRECTORY);
    if (directory < 0 || ioctl(directory, EXT4_IOC_SHUTDOWN, &flags) != 0) {
        perror(arguments[1]);
        return 1;
    }
    return 0;
}
