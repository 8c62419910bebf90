import type { Prepared } from './connection.ts';

/** Flags of a task row; 1 (something depends on it) and 4 (it has checkpoints or waits) are reserved. */
export const PAYLOAD_APART = 2;
export const RESULT_APART = 8;
/** The lease of an earlier attempt ran out: this task may be what killed its worker. */
export const SUSPECT = 16;

/** Texts above this go to `body`, so that a claim or an update does not rewrite them with the row. */
export const INLINE_BYTES = 1024;

const PAYLOAD = 0;
const RESULT = 1;

/** Length in UTF-16 units is a bound that is cheap to test: a text this short is at most three times as many bytes. */
export function fitsInline(text: string): boolean {
  return text.length <= INLINE_BYTES;
}

export function putPayload(sql: Prepared, task: number, text: string): void {
  sql.get('bodyPut').run(task, PAYLOAD, text);
}

export function putResult(sql: Prepared, task: number, text: string): void {
  sql.get('bodyPut').run(task, RESULT, text);
}

export function dropResult(sql: Prepared, task: number): void {
  sql.get('bodyDropPart').run(task, RESULT);
}

export function payloadOf(sql: Prepared, task: number, flags: number, inline: string | null): string {
  return inline ?? (flags & PAYLOAD_APART ? read(sql, task, PAYLOAD) : undefined) ?? 'null';
}

export function resultOf(sql: Prepared, task: number, flags: number, inline: string | null): string | undefined {
  return inline ?? (flags & RESULT_APART ? read(sql, task, RESULT) : undefined);
}

function read(sql: Prepared, task: number, part: number): string | undefined {
  return (sql.get('bodyGet').get(task, part) as { data: string } | undefined)?.data;
}
