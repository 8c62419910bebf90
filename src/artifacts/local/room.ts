import { statfs } from 'node:fs/promises';
import { diskFull, onDisk } from './disk-fault.ts';

/** Room that one put has taken and does not use yet. */
export interface TakenRoom {
  used(bytes: number): void;
  release(): void;
}

/**
 * The reserve of the disk. The store of tasks may lie on the same disk, so artifacts leave a share of it free: a put that would go below is refused
 * before a byte is written. Puts under way count with what they have still to write.
 */
export class Room {
  readonly #root: string;
  readonly #reserve: number;
  #taken = 0;

  constructor(root: string, reserve: number) {
    this.#root = root;
    this.#reserve = reserve;
  }

  async take(bytes: number): Promise<TakenRoom> {
    let left = bytes;
    this.#taken += bytes;
    const used = (count: number): void => {
      const now = Math.min(count, left);
      left -= now;
      this.#taken -= now;
    };
    const room: TakenRoom = { used, release: () => used(left) };
    try {
      await this.#check(bytes);
      return room;
    } catch (error) {
      room.release();
      throw error;
    }
  }

  async #check(bytes: number): Promise<void> {
    const disk = await onDisk('looking how much is free', () => statfs(this.#root));
    // Some file systems tell no size.
    if (disk.blocks === 0) return;
    const free = disk.bavail * disk.bsize - this.#taken;
    const kept = disk.blocks * disk.bsize * this.#reserve;
    if (free >= kept) return;
    const share = Math.round(this.#reserve * 100);
    throw diskFull(`the disk would have less than ${share} % free with these ${bytes} bytes, which is kept in reserve`);
  }
}
