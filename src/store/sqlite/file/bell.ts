import { closeSync, constants, type FSWatcher, fstatSync, openSync, readSync, rmSync, watch, writeSync } from 'node:fs';
import type { Clock } from '../../../core/world.ts';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
/** Follows no link and waits for no reader: what another user has put at this name must lead us nowhere. */
const SAFELY = O_RDWR | O_NOFOLLOW | O_NONBLOCK;

/** How long a place is held without a word. A process that was killed is rung for this long at most. */
const TERM_MS = 20_000;
/** How often a process that has no place looks which file has the name now. */
const LOOK_MS = 250;
const PLACES = 64;
/** A place: the id of who waits, and until when (monotonic time). The first one is no place: it is written to ring. */
const PLACE_BYTES = 16;

/**
 * A file beside the store by which a commit wakes other processes: whoever waits writes its place there, and a commit is followed by one
 * write to the file while somebody else has a place. The operating system tells the others, and only when the commit can be read. Nothing follows from it but a look: a lost ring, a place that two have taken and a file system without notices cost the poll of
 * `watchCommits`, and no more.
 */
export class Bell {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #id: number;
  readonly #listeners = new Set<() => void>();
  readonly #places = Buffer.alloc((1 + PLACES) * PLACE_BYTES);
  #fd: number | undefined;
  #openedAt = Number.NEGATIVE_INFINITY;
  #watcher: FSWatcher | undefined;
  #place: number | undefined;
  #until = 0;

  /** `id`: a random number that tells its place from those of others. */
  constructor(file: string, clock: Clock, id: number) {
    this.#path = `${file}-bell`;
    this.#clock = clock;
    this.#id = id;
  }

  /** After a commit that others may wait for. */
  ring(): void {
    const now = this.#clock.monotonic();
    try {
      // With a place of its own it looks when it renews that.
      if (this.#place === undefined) this.#look(now);
      if (this.#fd !== undefined && this.#othersWait(this.#fd, now)) writeSync(this.#fd, RING, 0, RING.length, 0);
    } catch {
      this.#forget();
    }
  }

  /** Calls back when it rings, while there is a place (`wait`). Without notices here it never does. */
  listen(onRing: () => void): () => void {
    this.#listeners.add(onRing);
    return () => {
      this.#listeners.delete(onRing);
      if (this.#listeners.size === 0) this.#leave();
    };
  }

  /** Takes a place, or keeps it. False: there is no bell, and only a poll finds what others commit. */
  wait(): boolean {
    const now = this.#clock.monotonic();
    if (this.#until - now > TERM_MS / 2) return true;
    try {
      // The last one to leave removes the file: then this is another one.
      if (this.#fd !== undefined && fstatSync(this.#fd).nlink === 0) this.#forget();
      const fd = this.#fd ?? openOwn(this.#path, O_CREAT);
      this.#fd = fd;
      this.#watcher ??= this.#watch();
      const place = this.#freePlace(fd, now);
      if (place === undefined) return false;
      this.#write(fd, place, now + TERM_MS);
      this.#place = place;
      this.#until = now + TERM_MS;
      return true;
    } catch {
      this.#forget();
      return false;
    }
  }

  /** Gives the place up until the next `wait`: this process is busy, and looks by itself before it rests. */
  rest(): void {
    if (this.#fd === undefined || this.#place === undefined) return;
    try {
      this.#write(this.#fd, this.#place, 0);
    } catch {
      // It ends by itself.
    }
    this.#place = undefined;
    this.#until = 0;
  }

  close(): void {
    this.#listeners.clear();
    this.#leave();
    this.#forget();
  }

  #watch(): FSWatcher {
    const watcher = watch(this.#path, { persistent: false }, (event) => {
      // It was removed, or another one was put in its place.
      if (event === 'rename') this.#forget();
      for (const onRing of this.#listeners) onRing();
    });
    watcher.on('error', () => this.#forget());
    return watcher;
  }

  #look(now: number): void {
    if (now - this.#openedAt < LOOK_MS) return;
    this.#openedAt = now;
    const before = this.#fd;
    this.#fd = undefined;
    if (before !== undefined) closeSync(before);
    try {
      this.#fd = openOwn(this.#path, 0);
    } catch {
      // Nobody waits anywhere.
    }
  }

  #othersWait(fd: number, now: number): boolean {
    const end = this.#read(fd);
    for (let at = PLACE_BYTES; at < end; at += PLACE_BYTES) {
      if (this.#isTaken(at, now) && this.#places.readDoubleLE(at) !== this.#id) return true;
    }
    return false;
  }

  /** Its own place, or the first that nobody holds. */
  #freePlace(fd: number, now: number): number | undefined {
    const end = this.#read(fd);
    let free: number | undefined;
    for (let at = PLACE_BYTES; at < end; at += PLACE_BYTES) {
      if (this.#places.readDoubleLE(at) === this.#id) return at;
      if (!this.#isTaken(at, now)) free ??= at;
    }
    return free ?? (end < this.#places.length ? Math.max(end, PLACE_BYTES) : undefined);
  }

  /** A time that lies too far ahead is of another boot. */
  #isTaken(at: number, now: number): boolean {
    const leftMs = this.#places.readDoubleLE(at + 8) - now;
    return leftMs > 0 && leftMs <= TERM_MS;
  }

  /** Where the last whole place ends. */
  #read(fd: number): number {
    const bytes = readSync(fd, this.#places, 0, this.#places.length, 0);
    return bytes - (bytes % PLACE_BYTES);
  }

  #write(fd: number, at: number, until: number): void {
    const place = Buffer.alloc(PLACE_BYTES);
    place.writeDoubleLE(this.#id, 0);
    place.writeDoubleLE(until, 8);
    writeSync(fd, place, 0, place.length, at);
  }

  /** The last one that waits takes the file away. One that comes at this moment finds out when it renews its place. */
  #leave(): void {
    const fd = this.#fd;
    const waited = this.#place !== undefined;
    this.rest();
    this.#watcher?.close();
    this.#watcher = undefined;
    try {
      if (waited && fd !== undefined && !this.#othersWait(fd, this.#clock.monotonic())) rmSync(this.#path);
    } catch {
      // It is gone, or the folder is not writable any more.
    }
  }

  #forget(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#place = undefined;
    this.#until = 0;
  }
}

const RING = Buffer.from([1]);

/** Opens it if it is a plain file of this user with this one name: writing to it can then change nothing else. */
function openOwn(path: string, flags: number): number {
  const fd = openSync(path, SAFELY | flags, 0o600);
  const stat = fstatSync(fd);
  if (stat.isFile() && stat.nlink === 1 && stat.uid === process.getuid?.()) return fd;
  closeSync(fd);
  throw new Error(`${path} is not a file of this user`);
}
