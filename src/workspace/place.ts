/** Workers of one host share a folder: each has a place in it for as long as it lives, and finds there what the last one of that place has left. */
import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fault } from '../core/errors.ts';
import { tryLock } from './git/folder-lock.ts';

export interface Place {
  readonly folder: string;
  leave(): void;
}

/** More workers than this on one host are a mistake. */
const MOST = 1000;
const PLACE = /^[1-9]\d{0,3}$/;

/** The first that nobody has. The system gives the place of a killed process back. */
export async function takePlace(folder: string): Promise<Place> {
  for (let number = 1; number <= MOST; number++) {
    const place = join(resolve(folder), String(number));
    const leave = await enterPlace(place);
    if (leave !== undefined) return { folder: place, leave };
  }
  throw fault('WORKSPACE_FAILED', { problem: `all ${MOST} places of its folder are taken` });
}

/** Undefined: a worker has it. */
export async function enterPlace(place: string): Promise<(() => void) | undefined> {
  await mkdir(place, { recursive: true, mode: 0o700 });
  return tryLock(join(place, 'worker.lock'));
}

/** All that were ever taken. */
export async function placesOf(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => PLACE.test(name));
  return names.sort((a, b) => Number(a) - Number(b)).map((name) => join(resolve(folder), name));
}
