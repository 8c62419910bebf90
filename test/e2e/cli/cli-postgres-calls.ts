import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { type Running, run } from '../../support/leasehold.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { type Answer, place } from './cli-calls.ts';

/** Stands in every address here, and must stand in nothing that is printed. */
export const PASSWORD = 'Gehe1m-Wort';
const withPassword = (url: string): string => url.replace(/^(postgres:\/\/[^:@/]*)(?::[^@]*)?@/, `$1:${PASSWORD}@`);

/** Calls on a database of its own, each of which is searched for the password. */
export async function server(t: TestContext) {
  const url = withPassword(await freshDatabase('cli'));
  assert.ok(url.includes(PASSWORD));
  const here = place(t);
  const searched = (answer: Answer): Answer => {
    assert.ok(!`${answer.stdout}${answer.stderr}`.includes(PASSWORD), `${answer.stdout}${answer.stderr}`);
    return answer;
  };
  const store = ['--store', url];
  return {
    cwd: here.cwd,
    url,
    call: async (args: readonly string[], input?: string) => searched(await here.call([...args, ...store], input)),
    /** With the address in the environment. */
    callWith: async (args: readonly string[]) => searched(await here.call(args, '', { LEASEHOLD_STORE: url })),
    /** With whatever address is in the arguments. */
    callBare: async (args: readonly string[]) => searched(await here.call(args)),
    start: (args: readonly string[]): Running => run(t, args, { cwd: here.cwd, env: { LEASEHOLD_STORE: url } }),
  };
}

export async function ask(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

export async function stop({ child, ended, ...running }: Running): Promise<void> {
  child.kill('SIGINT');
  assert.equal((await ended).code, 0, running.stderr);
}
