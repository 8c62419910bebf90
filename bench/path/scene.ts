import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { PathFigures } from './part.ts';

/** Runs a scene in a process of its own, through the built package whose `index.js` this is. */
export function runScene(
  library: string,
  address: string,
  scene: string,
  tasks = '60000',
): Readonly<Record<string, PathFigures>> {
  const args = [join(import.meta.dirname, 'child.ts'), library, address, scene, tasks];
  const out = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(out.trim().split('\n').at(-1) as string) as Record<string, PathFigures>;
}
