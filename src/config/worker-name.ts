import { hostname } from 'node:os';

/** `host-1234`: distinguishes the processes of a fleet. Characters that a worker's name may not have become a dash. */
export function defaultWorkerName(): string {
  return workerNameFor(hostname(), process.pid);
}

/** `host`: the same at every start, for a node. */
export function hostWorkerName(): string {
  return workerNameFor(hostname());
}

const LONGEST = 63;

export function workerNameFor(host: string, pid?: number): string {
  const tail = pid === undefined ? '' : `-${pid}`;
  const plain = host
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '');
  return `${plain.slice(0, LONGEST - tail.length) || 'worker'}${tail}`;
}
