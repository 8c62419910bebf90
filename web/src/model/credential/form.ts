/** What is typed into the form of a credential, and what is sent. */

import { commaList } from '../text.ts';

export interface FieldDraft {
  readonly name: string;
  readonly value: string;
}

export interface CredentialDraft {
  readonly name: string;
  readonly kind: 'text' | 'fields';
  readonly value: string;
  readonly fields: readonly FieldDraft[];
  readonly type: string;
  readonly workers: string;
  readonly tags: string;
  /** Empty: however the worker can. */
  readonly level: string;
}

export interface CredentialSent {
  readonly name: string;
  readonly value?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly workers?: readonly string[];
  readonly tags?: readonly string[];
  readonly level?: string | null;
}

export type CredentialProblems = Readonly<Partial<Record<'name' | 'value' | 'fields', string>>>;

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

export function emptyDraft(name = '', kind: CredentialDraft['kind'] = 'text', type = ''): CredentialDraft {
  return { name, kind, value: '', fields: [{ name: '', value: '' }], type, workers: '', tags: '', level: '' };
}

export function credentialIn(
  draft: CredentialDraft,
  isNew: boolean,
): { readonly body: CredentialSent; readonly problems: CredentialProblems } {
  const name = draft.name.trim();
  const named = NAME.test(name) ? {} : { name: 'Small letters, digits, dots, dashes and underscores, 63 at most' };
  const { body: value, problems } = draft.kind === 'text' ? textIn(draft.value) : fieldsIn(draft);
  const workers = commaList(draft.workers);
  const tags = commaList(draft.tags);
  return {
    body: {
      name,
      ...value,
      ...(workers.length === 0 ? {} : { workers }),
      ...(tags.length === 0 ? {} : { tags }),
      ...(isNew && draft.level !== '' ? { level: draft.level } : {}),
    },
    problems: { ...named, ...problems },
  };
}

interface ValueIn {
  readonly body: Pick<CredentialSent, 'value' | 'fields' | 'type'>;
  readonly problems: CredentialProblems;
}

/** As it was typed: a space at the end may belong to a password. */
function textIn(value: string): ValueIn {
  return { body: { value }, problems: value === '' ? { value: 'A credential is not empty' } : {} };
}

function fieldsIn({ fields, type }: CredentialDraft): ValueIn {
  const given = fields
    .map(({ name, value }) => ({ name: name.trim(), value }))
    .filter(({ name, value }) => name !== '' || value !== '');
  const names = given.map(({ name }) => name);
  const body = {
    fields: Object.fromEntries(given.map(({ name, value }) => [name, value])),
    type: type.trim() || 'fields',
  };
  if (given.length === 0) return { body, problems: { fields: 'A credential has a field at least' } };
  if (names.includes('')) return { body, problems: { fields: 'Each value has a name' } };
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  return { body, problems: twice === undefined ? {} : { fields: `${twice} is there twice` } };
}
