/** Fields of the dialogs of credentials: who may hold one, how it must be kept, and its named values. */

import type { FieldDraft } from '../../model/credential/form.ts';
import { Button } from '../../ui/buttons.tsx';
import { Field } from '../../ui/fields.tsx';

export function WhoFields({
  workers,
  tags,
  onWorkers,
  onTags,
}: {
  readonly workers: string;
  readonly tags: string;
  readonly onWorkers: (workers: string) => void;
  readonly onTags: (tags: string) => void;
}) {
  return (
    <>
      <Field label="Workers" hint="Their names, separated by commas">
        {(props) => (
          <input
            {...props}
            className="input"
            value={workers}
            placeholder="gpu-box, mac-mini"
            autoComplete="off"
            onChange={(event) => onWorkers(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="Tags"
        hint="All workers that were given one of these tags. Tags that a worker brings by itself do not count."
      >
        {(props) => (
          <input
            {...props}
            className="input"
            value={tags}
            placeholder="gpu"
            autoComplete="off"
            onChange={(event) => onTags(event.target.value)}
          />
        )}
      </Field>
    </>
  );
}

const LEVELS = [
  ['', 'However it can'],
  ['file', 'A file at least, of a worker that says so'],
  ['keyring', 'The keyring of its system, or better'],
  ['systemd', 'Sealed by systemd, or in memory alone'],
] as const;

export function LevelField({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (level: string) => void;
}) {
  return (
    <Field label="How a worker must keep it" hint="A worker that cannot is not given it, and the reason is shown">
      {(props) => (
        <select {...props} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          {LEVELS.map(([level, label]) => (
            <option key={level} value={level}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function NamedValues({
  fields,
  problem,
  onChange,
}: {
  readonly fields: readonly FieldDraft[];
  readonly problem: string | undefined;
  readonly onChange: (fields: readonly FieldDraft[]) => void;
}) {
  const change = (at: number, part: Partial<FieldDraft>): void =>
    onChange(fields.map((field, i) => (i === at ? { ...field, ...part } : field)));
  return (
    <fieldset className="field">
      <legend>Fields</legend>
      {fields.map((field, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place; rows are added at the end only.
        <div key={at} className="row">
          <input
            className="input"
            aria-label={`Name of field ${at + 1}`}
            aria-invalid={problem !== undefined}
            placeholder={at === 0 ? 'user' : 'password'}
            value={field.name}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => change(at, { name: event.target.value })}
          />
          <input
            className="input"
            type="password"
            aria-label={`Value of field ${at + 1}`}
            value={field.value}
            autoComplete="new-password"
            onChange={(event) => change(at, { value: event.target.value })}
          />
        </div>
      ))}
      {problem !== undefined && <p className="problem">{problem}</p>}
      <div>
        <Button small icon="plus" onClick={() => onChange([...fields, { name: '', value: '' }])}>
          Add a field
        </Button>
      </div>
    </fieldset>
  );
}
