/* Preloaded into a node: a clock that can be set, syncs that can be slow or held, and a ledger of
 * what was synced. No root is needed, and the node knows nothing of it.
 *
 *   TOUCHSTONE_SHIM_CONTROL   a file that chaos/means/shim writes and every process of the node maps
 *   TOUCHSTONE_SHIM_LEDGER    a file to which one line is added for each event below
 *   TOUCHSTONE_SHIM_ROOT      only files below this directory are of interest
 *
 * The ledger, in the order of the events, one write(2) for each line, so that a killed process
 * leaves whole lines:
 *
 *   S SIZE PATH     the content up to SIZE is on the medium (fsync, fdatasync)
 *   F SIZE PATH     a sync failed: what of the content up to SIZE was not on the medium stays away
 *   C SIZE PATH     the file was cut to SIZE (ftruncate, truncate)
 *   G SIZE PATH     the file was made larger, to SIZE, before anything is written there
 *   E PATH          this name is on the medium: its directory was synced
 *   M OLD<NUL>NEW   renamed
 *   D PATH          removed
 *
 * Only CLOCK_REALTIME is moved. A JVM measures its waits by CLOCK_MONOTONIC, and dies or spins if
 * that goes backwards.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000LL
#define LOOK_EVERY_US 500

/* The same order as in chaos/means/shim/control.py. */
struct control {
  int64_t clock_offset_ns;
  int64_t skew_ppm;
  int64_t skew_since_ns; /* of CLOCK_REALTIME as it really is */
  int64_t sync_delay_us;
  int32_t syncs_are_held;
  int32_t syncs_waiting;
  int32_t sync_fails_in;  /* the first, second … from now fails, once; 0: none */
  int32_t write_fails_in; /* likewise */
  int32_t only_indexes;   /* of writes: only those of files called *index count */
};

static struct control calm;
static volatile struct control *control = &calm;
static int ledger = -1;
static char root[PATH_MAX];
static size_t root_length;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("TOUCHSTONE_SHIM_CONTROL");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file >= 0) {
    void *mapped = mmap(NULL, sizeof calm, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) control = mapped;
    close(file);
  }
  path = getenv("TOUCHSTONE_SHIM_ROOT");
  if (path && realpath(path, root)) root_length = strlen(root);
  path = getenv("TOUCHSTONE_SHIM_LEDGER");
  if (path && root_length) ledger = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

/* --- the clock -------------------------------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *); /* the vDSO's: a system call is ten times as slow */
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int status = real ? real(clock, time) : (int)syscall(SYS_clock_gettime, clock, time);
  if (status != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return status;
  int64_t offset_ns = control->clock_offset_ns, ppm = control->skew_ppm;
  if (offset_ns == 0 && ppm == 0) return 0;
  int64_t now_ns = time->tv_sec * SECOND_NS + time->tv_nsec;
  if (ppm != 0) offset_ns += (now_ns - control->skew_since_ns) / 1000 * ppm / 1000;
  now_ns += offset_ns;
  time->tv_sec = now_ns / SECOND_NS;
  time->tv_nsec = now_ns % SECOND_NS;
  return 0;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone) {
  struct timespec time;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  value->tv_sec = time.tv_sec;
  value->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

/* --- the ledger ------------------------------------------------------------------------------- */

static int is_ours(const char *path) {
  return strncmp(path, root, root_length) == 0 && path[root_length] == '/';
}

/* The path of an open file. 0 if it is none of ours. */
static int path_of(int file, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return is_ours(path);
}

/* The path of a name, whose file need not exist (any more). 0 if it is none of ours. */
static int path_at(int directory, const char *name, char *path) {
  char parent[PATH_MAX], resolved[PATH_MAX];
  if (name[0] == '/' || directory == AT_FDCWD) {
    snprintf(parent, sizeof parent, "%s", name);
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = readlink(link, parent, sizeof parent - 1);
    if (length <= 0) return 0;
    snprintf(parent + length, sizeof parent - (size_t)length, "/%s", name);
  }
  char *slash = strrchr(parent, '/');
  const char *last = slash ? slash + 1 : parent;
  char kept[NAME_MAX + 1];
  if (snprintf(kept, sizeof kept, "%s", last) >= (int)sizeof kept) return 0;
  if (slash) *slash = '\0';
  if (!realpath(slash ? (parent[0] ? parent : "/") : ".", resolved)) return 0;
  if (snprintf(path, PATH_MAX, "%s/%s", resolved, kept) >= PATH_MAX) return 0;
  return is_ours(path);
}

static void note(const char *line, size_t length) {
  ssize_t written = syscall(SYS_write, ledger, line, length);
  (void)written; /* a disk without room for the ledger: the run's own problem */
}

static void note_path(char kind, const char *path) {
  char line[PATH_MAX + 8];
  int length = snprintf(line, sizeof line, "%c %s\n", kind, path);
  note(line, (size_t)length);
}

static void note_sized(char kind, int64_t size, const char *path) {
  char line[PATH_MAX + 64];
  int length = snprintf(line, sizeof line, "%c %lld %s\n", kind, (long long)size, path);
  note(line, (size_t)length);
}

/* After a directory is synced, every name in it is on the medium. */
static void note_names(int file) {
  char path[PATH_MAX], entry[PATH_MAX];
  struct stat state;
  if (ledger < 0 || fstat(file, &state) != 0 || !S_ISDIR(state.st_mode)) return;
  if (!path_of(file, path) && strcmp(path, root) != 0) return;
  DIR *directory = opendir(path);
  if (!directory) return;
  for (struct dirent *next; (next = readdir(directory));) {
    if (strcmp(next->d_name, ".") == 0 || strcmp(next->d_name, "..") == 0) continue;
    if (snprintf(entry, sizeof entry, "%s/%s", path, next->d_name) < PATH_MAX)
      note_path('E', entry);
  }
  closedir(directory);
}

/* --- syncs ------------------------------------------------------------------------------------ */

static void hold(void) {
  if (control->sync_delay_us > 0) usleep((useconds_t)control->sync_delay_us);
  if (!control->syncs_are_held) return;
  __atomic_add_fetch(&control->syncs_waiting, 1, __ATOMIC_SEQ_CST);
  while (control->syncs_are_held) usleep(LOOK_EVERY_US);
  __atomic_sub_fetch(&control->syncs_waiting, 1, __ATOMIC_SEQ_CST);
}

/* Whether a count of what is to fail has come to its end. */
static int fails(volatile int32_t *left) {
  return *left > 0 && __atomic_sub_fetch(left, 1, __ATOMIC_SEQ_CST) == 0;
}

static int is_interesting(int file) {
  char path[PATH_MAX];
  return root_length && (path_of(file, path) || strcmp(path, root) == 0);
}

/* What was in the file before the call is on the medium after it, so the size is taken before. */
static int sync_by(long number, int file) {
  int ours = is_interesting(file);
  struct stat before;
  if (ours) hold();
  int known = ours && fstat(file, &before) == 0;
  if (ours && fails(&control->sync_fails_in)) {
    char path[PATH_MAX];
    if (known && S_ISREG(before.st_mode) && ledger >= 0 && path_of(file, path))
      note_sized('F', before.st_size, path);
    errno = EIO;
    return -1;
  }
  int status = (int)syscall(number, file);
  int error = errno;
  if (status == 0 && known && S_ISREG(before.st_mode)) {
    char path[PATH_MAX];
    if (ledger >= 0 && path_of(file, path)) note_sized('S', before.st_size, path);
  } else if (status == 0 && known) {
    note_names(file);
  }
  errno = error;
  return status;
}

int fsync(int file) { return sync_by(SYS_fsync, file); }
int fdatasync(int file) { return sync_by(SYS_fdatasync, file); }

/* --- writes ----------------------------------------------------------------------------------- */

/* Asked of every write to anything, so the count is looked at first. */
static int write_fails(int file) {
  char path[PATH_MAX];
  if (control->write_fails_in <= 0 || !root_length || !path_of(file, path)) return 0;
  size_t length = strlen(path);
  if (control->only_indexes && (length < 5 || strcmp(path + length - 5, "index") != 0)) return 0;
  if (!fails(&control->write_fails_in)) return 0;
  errno = EIO;
  return 1;
}

ssize_t write(int file, const void *data, size_t size) {
  return write_fails(file) ? -1 : syscall(SYS_write, file, data, size);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  return write_fails(file) ? -1 : syscall(SYS_writev, file, parts, count);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset) {
  return write_fails(file) ? -1 : syscall(SYS_pwrite64, file, data, size, offset);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t offset) {
  return pwrite64(file, data, size, offset);
}

/* --- sizes and names -------------------------------------------------------------------------- */

static int resize(int file, off64_t size) {
  struct stat before;
  char path[PATH_MAX];
  int known = ledger >= 0 && fstat(file, &before) == 0;
  int status = (int)syscall(SYS_ftruncate, file, size);
  int error = errno;
  if (status == 0 && known && path_of(file, path))
    note_sized(size > before.st_size ? 'G' : 'C', size, path);
  errno = error;
  return status;
}

static int resize_at(const char *name, off64_t size) {
  int file = open(name, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  int status = resize(file, size);
  int error = errno;
  close(file);
  errno = error;
  return status;
}

int ftruncate(int file, off_t size) { return resize(file, size); }
int ftruncate64(int file, off64_t size) { return resize(file, size); }
int truncate(const char *name, off_t size) { return resize_at(name, size); }
int truncate64(const char *name, off64_t size) { return resize_at(name, size); }

int renameat2(int old_directory, const char *old, int new_directory, const char *new, unsigned flags) {
  char from[PATH_MAX], to[PATH_MAX], line[2 * PATH_MAX + 8];
  int ours = ledger >= 0 && path_at(old_directory, old, from) && path_at(new_directory, new, to);
  int status = (int)syscall(SYS_renameat2, old_directory, old, new_directory, new, flags);
  int error = errno;
  if (status == 0 && ours) {
    int length = snprintf(line, sizeof line, "M %s%c%s\n", from, '\0', to);
    note(line, (size_t)length);
  }
  errno = error;
  return status;
}

int renameat(int old_directory, const char *old, int new_directory, const char *new) {
  return renameat2(old_directory, old, new_directory, new, 0);
}

int rename(const char *old, const char *new) {
  return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int unlinkat(int directory, const char *name, int flags) {
  char path[PATH_MAX];
  int ours = ledger >= 0 && path_at(directory, name, path);
  int status = (int)syscall(SYS_unlinkat, directory, name, flags);
  int error = errno;
  if (status == 0 && ours) note_path('D', path);
  errno = error;
  return status;
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int remove(const char *name) {
  int status = unlink(name);
  return status != 0 && errno == EISDIR ? rmdir(name) : status;
}
