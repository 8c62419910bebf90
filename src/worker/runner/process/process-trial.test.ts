import { randomUUID } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Stream } from '../../../core/task/log.ts';
import { tempFolder } from '../../../store/conformance/kit/temp-folder.ts';
import type { ActiveRun, Ladder, LogSink, RunOutcome, RunRequest, StopReason } from '../runner.ts';
import { ProcessRunner, type ProcessRunnerOptions } from './process-runner.ts';
import { environmentOf, rowOf } from './process-table.ts';
import { WORKER_MARK } from './sweep.ts';

// Shared by the tests of the process runner. Named as a test, so that it is not built into the package.

const folder = tempFolder('runner');
const compiled = getCompileCacheDir();
/** Children start faster with what was compiled for others: 25 → 8 s of CPU for process-runner.test.ts. */
const COMPILED = compiled === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compiled) };
let modules = 0;

/** The path of a new module with this source. `task`, `reportGroup` and `spawn` are imported. */
export function moduleOf(source: string): string {
  modules++;
  const file = join(folder, `module-${modules}.mjs`);
  const imports = [
    `import { task } from ${JSON.stringify(new URL('../../define/task.ts', import.meta.url).href)};`,
    `import { done, giveUp, retryAfter } from ${JSON.stringify(new URL('../../define/outcome.ts', import.meta.url).href)};`,
    `import { reportGroupGone, reportGroup } from ${JSON.stringify(new URL('../child/group-reports.ts', import.meta.url).href)};`,
    `import { spawn, spawnSync } from 'node:child_process';`,
    `import * as fs from 'node:fs';`,
  ];
  writeFileSync(file, [...imports, source].join('\n'));
  return file;
}

/** A path for what a handler writes. */
export function fileOf(name: string): string {
  modules++;
  return join(folder, `${name}-${modules}`);
}

/** The log of a run, with a way to wait for a line of it. */
export class RecordedLog implements LogSink {
  readonly lines: { readonly stream: Stream; readonly text: string }[] = [];
  readonly values: unknown[] = [];
  drop?: (lines: number, bytes: number) => void;
  onRoom?: (listener: () => void) => void;
  #waiting: (() => void)[] = [];

  line(stream: Stream, text: string): void {
    this.lines.push({ stream, text });
    this.#wake();
  }

  progress(value: unknown): void {
    this.values.push(value);
    this.#wake();
  }

  of(stream: Stream): readonly string[] {
    return this.lines.filter((line) => line.stream === stream).map(({ text }) => text);
  }

  /** The first line that begins with this text. */
  async until(start: string): Promise<string> {
    for (;;) {
      const found = this.lines.find(({ text }) => text.startsWith(start));
      if (found !== undefined) return found.text;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

export interface Run {
  readonly recorded: RecordedLog;
  readonly running: ActiveRun;
  readonly ended: Promise<RunOutcome>;
  readonly request: RunRequest;
  stop(why: StopReason, ladder: Ladder): void;
}

export interface Trial {
  readonly runner: ProcessRunner;
  readonly incarnation: string;
  readonly warnings: { readonly message: string; readonly fields?: Readonly<Record<string, unknown>> | undefined }[];
  readonly run: (handler: string, input?: unknown, request?: Partial<RunRequest>) => Run;
}

export type TrialOptions = Partial<ProcessRunnerOptions> & { readonly source?: string };

let tasks = 0;

/** A runner that has not started. It is closed after the test, which fails when a process is left. */
export function prepare(t: TestContext, { source, ...options }: TrialOptions): Trial {
  const incarnation = `trial-${randomUUID()}`;
  const warnings: Trial['warnings'] = [];
  const runner = new ProcessRunner({
    modules: source === undefined ? [] : [moduleOf(source)],
    slots: 1,
    incarnation,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...COMPILED },
    log: { warn: (message, fields) => warnings.push({ message, fields }) },
    ...options,
  });
  t.after(async () => {
    await runner.close();
    const left = processesOf(incarnation);
    if (left.length > 0) throw new Error(`left running: ${left}`);
  });
  return {
    runner,
    incarnation,
    warnings,
    run(handler, input = null, more = {}) {
      tasks++;
      const base = { task: tasks, attempt: 1, id: `task-${tasks}`, queue: 'q', handler, tries: 1, maxTries: 3 };
      const request: RunRequest = { ...base, payload: JSON.stringify(input), alone: false, ...more };
      const recorded = new RecordedLog();
      const running = runner.run(request, recorded);
      return { recorded, running, request, ended: running.ended, stop: (why, ladder) => running.stop(why, ladder) };
    },
  };
}

/** A runner that has started. */
export async function open(t: TestContext, options: TrialOptions): Promise<Trial> {
  const trial = prepare(t, options);
  await trial.runner.start();
  return trial;
}

/** The living processes that bear this entry in their environment, read without the code under test's own sweep. */
export function processesOf(incarnation: string): readonly number[] {
  const entry = `${WORKER_MARK}=${incarnation}`;
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => environmentOf(pid)?.includes(entry) === true && isAlive(pid));
}

/** A zombie is not alive. */
export function isAlive(pid: number): boolean {
  return rowOf(pid) !== undefined;
}

/** For what other processes do, of which nothing tells us. */
export async function eventually(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + 10_000; !(await condition()); await delay(5)) {
    if (Date.now() > deadline) throw new Error(`not within 10 s: ${what}`);
  }
}

/** The result of a run that must be done. */
export async function resultOf(run: Run): Promise<unknown> {
  const ended = await run.ended;
  if (ended.kind !== 'done') throw new Error(`not done but ${JSON.stringify(ended)}`);
  return ended.result;
}

/** The error of a run, with the kind of its end. */
export async function errorOf(run: Run): Promise<{
  readonly kind: string;
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}> {
  const ended = await run.ended;
  if (!('error' in ended)) throw new Error(`no error but ${JSON.stringify(ended)}`);
  return { kind: ended.kind, ...(ended.error as { name: string; message: string }) };
}
