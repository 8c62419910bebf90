/** A field of one line, or of JSON. */

import type { ReactNode } from 'react';
import { Field } from '../../ui/fields.tsx';

export function TextField({
  label,
  hint,
  problem,
  value,
  placeholder = '',
  rows = 0,
  secret = false,
  onChange,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly problem: string | undefined;
  readonly value: string;
  readonly placeholder?: string;
  /** More than none: several lines of code. */
  readonly rows?: number;
  readonly secret?: boolean;
  readonly onChange: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(props) => {
        const rest = { ...props, value, placeholder, spellCheck: false };
        return rows > 0 ? (
          <textarea {...rest} className="input mono" rows={rows} onChange={(event) => onChange(event.target.value)} />
        ) : (
          <input
            {...rest}
            className="input"
            autoComplete="off"
            type={secret ? 'password' : 'text'}
            onChange={(event) => onChange(event.target.value)}
          />
        );
      }}
    </Field>
  );
}
