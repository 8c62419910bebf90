import type { KeptResult } from '../store.ts';

export interface ResultRow {
  readonly task: number;
  readonly attempt: number;
  readonly born: number;
  readonly value: string | null;
  readonly at: number;
}

export function resultOf({ task, attempt, born, value, at }: ResultRow): KeptResult {
  return { task, attempt, createdAt: born, value: value ?? undefined, at };
}
