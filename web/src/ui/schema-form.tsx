/** The form fields of a JSON Schema. */

import type { Draft, Field as FormField } from '../model/schema-form.ts';
import { Field } from './fields.tsx';

export function SchemaForm({
  fields,
  draft,
  problems,
  onChange,
  path = '',
}: {
  readonly fields: readonly FormField[];
  readonly draft: Draft;
  readonly problems: Readonly<Record<string, string>>;
  readonly onChange: (draft: Draft) => void;
  readonly path?: string;
}) {
  return (
    <div className="fields">
      {fields.map((field) => (
        <SchemaField
          key={field.name}
          field={field}
          entered={draft[field.name]}
          problems={problems}
          path={`${path}${field.name}`}
          onChange={(entered) => onChange({ ...draft, [field.name]: entered })}
        />
      ))}
    </div>
  );
}

function SchemaField({
  field,
  entered,
  problems,
  path,
  onChange,
}: {
  readonly field: FormField;
  readonly entered: unknown;
  readonly problems: Readonly<Record<string, string>>;
  readonly path: string;
  readonly onChange: (entered: unknown) => void;
}) {
  const label = `${field.title}${field.required ? '' : ' (optional)'}`;
  if (field.kind === 'group') {
    return (
      <fieldset className="group">
        <legend>{label}</legend>
        {field.about !== '' && <p className="quiet">{field.about}</p>}
        <SchemaForm
          fields={field.fields}
          draft={(entered ?? {}) as Draft}
          problems={problems}
          path={`${path}.`}
          onChange={onChange}
        />
      </fieldset>
    );
  }
  const text = typeof entered === 'string' ? entered : '';
  const set = (event: { readonly target: { readonly value: string } }): void => onChange(event.target.value);
  const hint = [field.about, field.kind === 'texts' ? 'One a line.' : '', field.kind === 'json' ? 'JSON.' : '']
    .filter((one) => one !== '')
    .join(' ');
  return (
    <Field label={label} hint={hint === '' ? undefined : hint} problem={problems[path]}>
      {(props) => {
        const rest = { ...props, className: 'input', value: text, onChange: set };
        switch (field.kind) {
          case 'text':
            return field.long ? (
              <textarea {...rest} rows={3} className="input mono" spellCheck={false} />
            ) : (
              <input {...rest} type={field.secret ? 'password' : 'text'} autoComplete="off" />
            );
          case 'number':
            return (
              <input
                {...rest}
                inputMode={field.whole ? 'numeric' : 'decimal'}
                placeholder={
                  field.min !== undefined && field.max !== undefined ? `${field.min} – ${field.max}` : undefined
                }
              />
            );
          case 'flag':
            return (
              <select {...rest}>
                <option value="">–</option>
                <option value="true">yes</option>
                <option value="false">no</option>
              </select>
            );
          case 'choice':
            return (
              <select {...rest}>
                <option value="">–</option>
                {field.options.map((option) => (
                  <option key={JSON.stringify(option)} value={JSON.stringify(option)}>
                    {typeof option === 'string' ? option : JSON.stringify(option)}
                  </option>
                ))}
              </select>
            );
          case 'texts':
          case 'json':
            return <textarea {...rest} rows={2} className="input mono" spellCheck={false} />;
        }
      }}
    </Field>
  );
}
