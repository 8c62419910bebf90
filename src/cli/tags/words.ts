import type { Argument } from '../../config/load.ts';
import type { RenamedTagView, TagView } from '../../operate/views.ts';
import { safeLine } from '../display/safe.ts';

/** How the commands name a tag. */
export const TAG = { name: 'TAG', doc: 'The tag: gpu, or with a value gpu=nvidia' } as const satisfies Argument;

export const userText = ({ kind, name }: TagView['usedBy'][number]): string => `${kind} ${name}`;

/** What still names a tag that is gone, one sentence each. */
export function stillText(tag: string, { queues, workers, definitions }: RenamedTagView['still']): readonly string[] {
  const list = (some: readonly string[]): string => some.map(safeLine).join(', ');
  const name = safeLine(tag);
  return [
    ...(queues.length === 0 ? [] : [`Ready tasks still require ${name}, in: ${list(queues)}.`]),
    ...(definitions.length === 0 ? [] : [`These still name ${name}: ${list(definitions.map(userText))}.`]),
    ...(workers.length === 0
      ? []
      : [`These bring ${name} themselves until they are started without: ${list(workers)}.`]),
  ];
}
