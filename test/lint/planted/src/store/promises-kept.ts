import { writeFile } from 'node:fs/promises';

type State = 'ready' | 'running' | 'done';

export async function waits(): Promise<void> {
  await writeFile('a', 'b');
  void writeFile('a', 'b');
}

export async function gathers(items: number[]): Promise<void> {
  await Promise.all(items.map((item) => writeFile('a', String(item))));
}

export function covers(state: State): number {
  switch (state) {
    case 'ready':
      return 1;
    case 'running':
      return 2;
    case 'done':
      return 3;
  }
}

export const known: unknown = 1;
