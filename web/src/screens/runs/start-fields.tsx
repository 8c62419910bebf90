/** Fields of the dialogs that start a run. */

import { jsonIn } from '../../model/json-text.ts';
import { Field } from '../../ui/fields.tsx';

export function JsonField({
  label,
  text,
  onChange,
}: {
  readonly label: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
}) {
  const read = jsonIn(text);
  return (
    <Field label={label} problem={read.ok ? undefined : read.problem}>
      {(props) => (
        <textarea
          {...props}
          className="input mono"
          rows={4}
          spellCheck={false}
          placeholder='{"topic": "bees"}'
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

export function NameField({ name, onChange }: { readonly name: string; readonly onChange: (name: string) => void }) {
  return (
    <Field
      label="Execution id (optional)"
      hint="Started again under it, the run goes on, or gives the result that it has"
    >
      {(props) => (
        <input
          {...props}
          className="input"
          autoComplete="off"
          spellCheck={false}
          placeholder="orders/4711"
          value={name}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
