import { loadConfig } from '../../config/load.ts';
import type { TagView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { type Column, printList } from '../display/table.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

/** `leasehold tags`. */
export const tags: Command = {
  name: 'tags',
  doc: 'List the tags that workers carry, and those that ready tasks require and no worker has',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'tags', does: 'the tags that the fleet has, and those that it lacks' },
    { line: "tags --json | jq 'select(.workers == 0)'", does: 'only those that it lacks' },
  ],

  run(args) {
    return showList<TagView>(loadConfig(tags, args), {
      read: (operator) => operator.call('listTags').then(({ tags }) => tags),
      show(found, out) {
        printList(out, columns(out), found);
        if (out.mode === 'screen') hint(found, out);
      },
      keyOf: ({ tag }) => tag,
    });
  },
};

function columns(out: Out): readonly Column<TagView>[] {
  return [
    {
      head: 'tag',
      cell: ({ tag }) => tag,
      paint: ({ workers }, text) => (workers === 0 ? out.paint('red', text) : text),
    },
    {
      head: 'workers',
      cell: ({ workers }) => String(workers),
      show: ({ workers }) => (workers === 0 ? '✗ nobody' : String(workers)),
      paint: ({ workers }, text) => (workers === 0 ? out.paint('red', text) : text),
    },
    { head: 'required in', cell: ({ wantedBy }) => wantedBy.join(',') || '–' },
    { head: 'carried by', cell: ({ names }) => names.join(',') || '–', rest: true },
  ];
}

function hint(found: readonly TagView[], out: Out): void {
  const missing = found.find(({ workers }) => workers === 0);
  if (found.length === 0)
    out.note('No worker here carries a tag, and no task requires one: "worker --tag TAG" brings one.');
  else if (missing !== undefined)
    out.note(
      out.paint('dim', 'What nobody has: start a worker with --tag TAG, or "leasehold workers tag NAME --add TAG".'),
    );
}
