/** What a server has answered, in the few words that a pool keeps of it. */
import type { HttpResponse } from '../../worker/handlers/http/http-exchange.ts';
import { redact } from './secrecy.ts';

const QUOTED = 300;
const LONGEST_NAME = 200;

/** The beginning of an answer, for an error. */
export function quoted({ body }: HttpResponse, ticket: string): string {
  const line = oneLine(redact(body.toString('utf8'), ticket), QUOTED);
  return line === '' ? '.' : `: ${line}`;
}

/** A text of an answer in JSON; undefined: it has none of this name. */
export function answeredText(response: HttpResponse, name: string, ticket: string): string | undefined {
  const value = answered(response)?.[name];
  if (typeof value !== 'string') return undefined;
  const line = oneLine(redact(value, ticket), LONGEST_NAME);
  return line === '' ? undefined : line;
}

function answered({ body, cut }: HttpResponse): Readonly<Record<string, unknown>> | undefined {
  if (cut) return undefined;
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

function oneLine(text: string, longest: number): string {
  return text
    .slice(0, longest)
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}
