/** What a process of tests tells the tier that started it, an object a line. It runs in that process, beside the tests. */
import type { TestEvent } from 'node:test/reporters';

/** A test at the top of its file has ended. */
export interface Ended {
  readonly file: string | undefined;
  readonly ms: number;
}

export type Told =
  | { readonly type: 'ended'; readonly ended: Ended }
  | { readonly type: 'failed'; readonly file: string | undefined; readonly name: string }
  | { readonly type: 'skipped'; readonly name: string; readonly why: string }
  | { readonly type: 'counts'; readonly pass: number; readonly fail: number; readonly skipped: number };

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    // The runner counts a file without tests as one that holds, under the name of the file.
    if (type === 'test:complete' && data.nesting === 0 && data.file?.endsWith(data.name) !== true) {
      yield line({ type: 'ended', ended: { file: data.file, ms: data.details.duration_ms } });
    }
    if (type === 'test:pass' && data.skip !== undefined)
      yield line({ type: 'skipped', name: data.name, why: typeof data.skip === 'string' ? data.skip : '' });
    if (type === 'test:fail' && data.todo === undefined)
      yield line({ type: 'failed', file: data.file, name: data.name });
    if (type === 'test:summary' && data.file === undefined) {
      const { tests, passed, skipped, todo } = data.counts;
      yield line({ type: 'counts', pass: passed, fail: tests - passed - skipped - todo, skipped: skipped + todo });
    }
  }
}

function line(told: Told): string {
  return `${JSON.stringify(told)}\n`;
}
