import type { Out } from './out.ts';
import { safeJson } from './safe.ts';

export interface TestOut extends Out {
  readonly lines: string[];
  readonly notes: string[];
}

/** An output that records its lines, for tests. */
export function testOut(mode: Out['mode'], columns = 100): TestOut {
  const lines: string[] = [];
  const notes: string[] = [];
  return {
    mode,
    columns,
    colours: false,
    paint: (_format, text) => text,
    lines,
    notes,
    line: (text) => void lines.push(text),
    json: (value) => void lines.push(safeJson(value)),
    note: (text) => void notes.push(text),
  };
}
