import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, renameSync, writeSync } from 'node:fs';

/** The position of a line in the file. */
interface Place {
  readonly at: number;
  readonly length: number;
}

export interface EndsFileOptions {
  readonly path: string;
  /** The first line, which names the owner. */
  readonly head: string;
  /** The most that the live lines may take; default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Above this size dropped lines are cleared away; default 1 MiB. */
  readonly tidyBytes?: number | undefined;
}

const MIB = 1024 * 1024;

/**
 * Lines under keys, in an append-only file. When `put` returns, the system has the line, and it outlives `kill -9`; with `durable` it
 * is on the disk. Dropping a line appends another one that says so; dropping the last one truncates the file to its head. When most
 * of the file is dropped lines, it is rewritten.
 */
export class EndsFile {
  readonly #options: EndsFileOptions;
  readonly #live = new Map<string, Place>();
  #liveBytes = 0;
  #size = 0;
  #headBytes = 0;
  #file: number | undefined;

  constructor(options: EndsFileOptions) {
    this.#options = options;
  }

  /** The number of lines that are not dropped. */
  get count(): number {
    return this.#live.size;
  }

  /** Replaces the line under the key. False: there is no room. Throws the error of the disk. */
  put(key: string, text: string, durable: boolean): boolean {
    return this.putAll([[key, text]], durable);
  }

  /** Several in one write. False: there is no room for all of them, and none is kept. */
  putAll(entries: readonly (readonly [key: string, text: string])[], durable: boolean): boolean {
    const lines = entries.map(([key, text]) => ({ key, line: Buffer.from(`${text}\n`) }));
    const bytes = lines.reduce((sum, { line }) => sum + line.length, 0);
    if (this.#liveBytes + bytes > (this.#options.maxBytes ?? 64 * MIB)) return false;
    const fresh = lines.filter(({ key, line }) => !this.#has(key, line));
    if (fresh.length > 0) {
      for (const { key } of fresh) this.#forget(key);
      let { at } = this.#append(Buffer.concat(fresh.map(({ line }) => line)));
      for (const { key, line } of fresh) {
        this.#live.set(key, { at, length: line.length });
        at += line.length;
        this.#liveBytes += line.length;
      }
    }
    if (durable) fsyncSync(this.#open());
    return true;
  }

  /** Creates the file with its first line, if it is not there. */
  touch(): void {
    this.#open();
  }

  drop(key: string): void {
    this.dropAll([key]);
  }

  dropAll(keys: readonly string[]): void {
    const gone = keys.filter((key) => this.#forget(key));
    if (gone.length === 0) return;
    if (this.#live.size === 0) {
      ftruncateSync(this.#open(), this.#headBytes);
      this.#size = this.#headBytes;
      return;
    }
    this.#append(Buffer.from(gone.map((key) => `${JSON.stringify({ gone: key })}\n`).join('')));
    if (this.#size > (this.#options.tidyBytes ?? MIB) && this.#liveBytes < this.#size / 2) this.#tidy();
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #forget(key: string): boolean {
    const place = this.#live.get(key);
    if (place === undefined) return false;
    this.#live.delete(key);
    this.#liveBytes -= place.length;
    return true;
  }

  /** A retry puts the same line again and again. */
  #has(key: string, line: Buffer): boolean {
    const place = this.#live.get(key);
    return place !== undefined && place.length === line.length && this.#read(place).equals(line);
  }

  #read({ at, length }: Place): Buffer {
    const buffer = Buffer.alloc(length);
    for (let done = 0; done < length; ) {
      const read = readSync(this.#open(), buffer, done, length - done, at + done);
      if (read === 0) throw new Error('the file is shorter than what was written to it');
      done += read;
    }
    return buffer;
  }

  #append(line: Buffer): Place {
    const file = this.#open();
    const place = { at: this.#size, length: line.length };
    try {
      write(file, line, place.at);
    } catch (error) {
      // Half of a line would corrupt the one after it.
      ftruncateSync(file, place.at);
      throw error;
    }
    this.#size += line.length;
    return place;
  }

  #open(): number {
    if (this.#file !== undefined) return this.#file;
    const { path, head } = this.#options;
    const file = openSync(path, 'wx+', 0o600);
    const line = Buffer.from(`${head}\n`);
    write(file, line, 0);
    this.#file = file;
    this.#size = this.#headBytes = line.length;
    return file;
  }

  /** Written to a new file and renamed: a process that is killed in between leaves one or the other. */
  #tidy(): void {
    const { path, head } = this.#options;
    const lines = [...this.#live].map(([key, place]) => ({ key, line: this.#read(place) }));
    const beside = `${path}.new`;
    const file = openSync(beside, 'w+', 0o600);
    let size = write(file, Buffer.from(`${head}\n`), 0);
    for (const { key, line } of lines) {
      this.#live.set(key, { at: size, length: line.length });
      size += write(file, line, size);
    }
    fsyncSync(file);
    renameSync(beside, path);
    this.close();
    this.#file = file;
    this.#size = size;
  }
}

function write(file: number, bytes: Buffer, at: number): number {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at + done);
  return bytes.length;
}
