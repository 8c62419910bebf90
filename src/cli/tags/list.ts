import { loadConfig } from '../../config/load.ts';
import type { TagView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { type Column, printList } from '../display/table.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';
import { userText } from './words.ts';

/** `leasehold tags list`. */
export const list: Command = {
  name: 'tags list',
  doc: 'List tags, where each is used, and those that tasks require and nobody has',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'tags list', does: 'the tags that the fleet has, and those that it lacks; "tags" alone does the same' },
    { line: "tags list --json | jq 'select(.workers == 0)'", does: 'only those that it lacks' },
  ],

  run(args) {
    return showList<TagView>(loadConfig(list, args), {
      read: (operator) => operator.call('listTags').then(({ tags }) => tags),
      show(found, out) {
        printList(out, columns(out), found);
        if (out.mode === 'screen') hint(found, out);
      },
      keyOf: ({ tag }) => tag,
    });
  },
};

/** It is required, and no enabled worker has it. */
const isMissing = ({ missing }: TagView): boolean => missing;

function columns(out: Out): readonly Column<TagView>[] {
  return [
    {
      head: 'tag',
      cell: ({ tag }) => tag,
      paint: (row, text) => (isMissing(row) ? out.paint('red', text) : text),
    },
    {
      head: 'workers',
      cell: ({ workers }) => String(workers),
      show: (row) => (isMissing(row) ? '✗ nobody' : String(row.workers)),
      paint: (row, text) => (isMissing(row) ? out.paint('red', text) : text),
    },
    { head: 'required in', cell: ({ wantedBy }) => wantedBy.join(',') || '–' },
    { head: 'carried by', cell: ({ names }) => names.join(',') || '–' },
    { head: 'given to', cell: ({ givenTo }) => givenTo.join(',') || '–' },
    { head: 'named by', cell: ({ usedBy }) => usedBy.map(userText).join(',') || '–', rest: true },
  ];
}

function hint(found: readonly TagView[], out: Out): void {
  const missing = found.find(isMissing);
  if (found.length === 0)
    out.note('There is no tag, and no task requires one: "worker --tag TAG" brings one, "tags create TAG" makes one.');
  else if (missing !== undefined)
    out.note(
      out.paint('dim', 'What nobody has: start a worker with --tag TAG, or "leasehold workers tag NAME --add TAG".'),
    );
}
