import { loadConfig } from '../../config/load.ts';
import type { CredentialView } from '../../operate/views.ts';
import { type Column, printList } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';
import { choiceWords, holdersWords } from './words.ts';

/** `leasehold credentials list`. */
export const list: Command = {
  name: 'credentials list',
  doc: 'List credentials: who may hold them and who does, never what they are',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'credentials list', does: 'which there are, and whether their holders have them' },
    { line: 'credentials list --json', does: 'one credential a line, for programs' },
  ],

  run(args) {
    return showList<CredentialView>(loadConfig(list, args), {
      read: (operator) => operator.call('listCredentials').then(({ credentials }) => credentials),
      show(credentials, out) {
        printList(out, COLUMNS, credentials);
        if (out.mode === 'screen' && credentials.length === 0)
          out.note('No credentials yet: "leasehold credentials set NAME --worker WORKER" makes one.');
      },
      keyOf: ({ name }) => name,
    });
  },
};

const COLUMNS: readonly Column<CredentialView>[] = [
  { head: 'credential', cell: ({ name }) => name },
  { head: 'version', cell: ({ version }) => String(version), right: true },
  { head: 'kind', cell: ({ kind }) => kind },
  { head: 'kept by', cell: ({ level }) => level ?? 'any' },
  { head: 'may hold', cell: choiceWords },
  { head: 'holders', cell: holdersWords },
  {
    head: 'changed',
    cell: ({ changedAt }) => new Date(changedAt).toISOString(),
    show: ({ changedAt }) => formatRelative(changedAt, Date.now()),
  },
];
