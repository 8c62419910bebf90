import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openNode } from '../../../src/index.ts';
import { BIN, temporaryFolder } from '../../support/leasehold.ts';

export interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Lines of standard output. */
  readonly lines: readonly string[];
  /** The same, each as an object. */
  readonly objects: () => readonly Record<string, unknown>[];
}

export interface Place {
  readonly cwd: string;
  readonly url: string;
  /** Runs `leasehold ARGS` to its end. */
  readonly call: (
    args: readonly string[],
    input?: string,
    settings?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
}

/** A folder with no store yet, and calls in it. */
export function place(t: TestContext): Place {
  const cwd = temporaryFolder(t);
  return {
    cwd,
    url: `sqlite:${join(cwd, '.leasehold/leasehold.db')}`,
    call: (args, input = '', settings = {}) => call(cwd, args, input, settings),
  };
}

async function call(
  cwd: string,
  args: readonly string[],
  input: string,
  settings: Readonly<Record<string, string>>,
): Promise<Answer> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(LEASEHOLD|APFLOW)_|^(NODE_OPTIONS|NODE_TEST_CONTEXT|FORCE_COLOR)$/.test(name),
    ),
  );
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env: { ...env, ...settings } });
  child.stdin.on('error', () => {}); // it may have ended without reading
  child.stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ]);
  const lines = stdout === '' ? [] : stdout.replace(/\n$/, '').split('\n');
  return {
    code,
    stdout,
    stderr,
    lines,
    objects: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  stream.setEncoding('utf8');
  return (await Array.fromAsync(stream as AsyncIterable<string>)).join('');
}

/** A worker of the test's own, through the library. */
export async function workAt(t: TestContext, url: string) {
  const node = await openNode(url, { duties: false, housekeeping: false });
  t.after(() => node.close());
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'tester', incarnation: crypto.randomUUID(), slots: 10 });
  return { engine, worker };
}
