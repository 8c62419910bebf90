import { PAYLOAD_APART, RESULT_APART } from '../codes.ts';
import type { Prepared } from './file/connection.ts';

const PAYLOAD = 0;
const RESULT = 1;
const RESULT_KEY = 2;

export function putPayload(sql: Prepared, task: number, text: string): void {
  sql.get('bodyPut').run(task, PAYLOAD, text);
}

export function putResultKey(sql: Prepared, task: number, key: string): void {
  sql.get('bodyPut').run(task, RESULT_KEY, key);
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

export function resultKeyOf(sql: Prepared, task: number): string | undefined {
  return read(sql, task, RESULT_KEY);
}

function read(sql: Prepared, task: number, part: number): string | undefined {
  return (sql.get('bodyGet').get(task, part) as { data: string } | undefined)?.data;
}
