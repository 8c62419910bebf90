import { describeFailure } from '../core/task/failure.ts';
import { encodePayload, entryBounds } from '../core/task/payload.ts';
import type { NewRequest } from './frames.ts';
import type { TurnEntry, TurnRequest, TurnThen } from './link.ts';

/** A turn on the wire: values of users are JSON text, as everywhere. */
export type TurnMessage = Pick<Extract<NewRequest, { type: 'task_turn' }>, 'entries' | 'draw' | 'spend' | 'then'>;

type EntryMessage = TurnMessage['entries'][number];

export function messageOf({ entries, draw, spend, then }: TurnRequest): TurnMessage {
  return { entries: entries.map(entryMessage), ...metering(draw, spend), then: thenMessage(then) };
}

/** `read` parses the texts, and refuses those that must not be read. */
export function turnOf({ entries, draw, spend, then }: TurnMessage, read: (text: string) => unknown): TurnRequest {
  return { entries: entries.map((entry) => entryOf(entry, read)), ...metering(draw, spend), then: thenOf(then, read) };
}

function metering<D, S>(draw: readonly D[] | undefined, spend: readonly S[] | undefined): { draw?: D[]; spend?: S[] } {
  return {
    ...(draw === undefined ? {} : { draw: [...draw] }),
    ...(spend === undefined ? {} : { spend: [...spend] }),
  };
}

function entryMessage(entry: TurnEntry): EntryMessage {
  if (entry.kind === 'child') {
    const { input, ...child } = entry.child;
    const text = input === undefined ? {} : { input: encodePayload(input) };
    return { ...entry, child: { ...child, ...text } } as EntryMessage;
  }
  if (entry.kind === 'signal') return { ...entry, body: encodePayload(entry.body ?? null, { field: 'signal' }) };
  const { usage, ...rest } = entry;
  const text = usage === undefined ? {} : { usage: encodePayload(usage, { field: 'usage' }) };
  return {
    ...rest,
    value: encodePayload(entry.value ?? null, { field: 'value', ...entryBounds(entry.kind) }),
    ...text,
  };
}

function entryOf(entry: EntryMessage, read: (text: string) => unknown): TurnEntry {
  if (entry.kind === 'child') {
    const { input, ...child } = entry.child;
    return { ...entry, child: { ...child, ...(input === undefined ? {} : { input: read(input) }) } } as TurnEntry;
  }
  if (entry.kind === 'signal') return { ...entry, body: read(entry.body) } as TurnEntry;
  const { usage, ...rest } = entry;
  const usageValue = usage === undefined ? {} : { usage: read(usage) };
  return { ...rest, value: read(entry.value), ...usageValue } as TurnEntry;
}

function thenMessage(then: TurnThen): TurnMessage['then'] {
  switch (then.go) {
    case 'on':
      return then;
    case 'park': {
      const { others, ...wait } = then;
      return {
        ...formText(wait),
        ...(others === undefined ? {} : { others: others.map(formText) }),
      } as TurnMessage['then'];
    }
    case 'complete':
      return {
        go: 'complete',
        ...(then.result === undefined ? {} : { result: encodePayload(then.result, { field: 'result' }) }),
      };
    case 'fail':
      return { ...then, error: describeFailure(then.error) };
  }
}

function formText<T extends { readonly form?: unknown }>({ form, ...wait }: T): object {
  return { ...wait, ...(form === undefined ? {} : { form: encodePayload(form, { field: 'form' }) }) };
}

function thenOf(then: TurnMessage['then'], read: (text: string) => unknown): TurnThen {
  switch (then.go) {
    case 'on':
      return then;
    case 'park': {
      const formOf = <T extends { readonly form?: string | undefined }>({ form, ...wait }: T): object => {
        return { ...wait, ...(form === undefined ? {} : { form: read(form) }) };
      };
      const { others, ...wait } = then;
      return { ...formOf(wait), ...(others === undefined ? {} : { others: others.map(formOf) }) } as TurnThen;
    }
    case 'complete':
      return { go: 'complete', ...(then.result === undefined ? {} : { result: read(then.result) }) };
    case 'fail':
      return { ...then, error: read(then.error) } as TurnThen;
  }
}
