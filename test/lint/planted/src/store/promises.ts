import { writeFile } from 'node:fs/promises';

type State = 'ready' | 'running' | 'done';

export function floats(): void {
  writeFile('a', 'b'); // expect: no-floating-promises
}

export function misuses(items: number[]): void {
  items.forEach(async (item) => { // expect: no-misused-promises
    await writeFile('a', String(item));
  });
}

export function forgets(state: State): number {
  switch (state) { // expect: switch-exhaustiveness-check
    case 'ready':
      return 1;
    case 'running':
      return 2;
  }
  return 3;
}

export const anything: any = 1; // expect: no-explicit-any

export function compares(value: number): boolean {
  return value === Number.NaN; // expect: use-isnan
}
