/** Fields that several kinds of launchers have. */

import { checkHeader, checkUrl } from '../../worker/handlers/http/http.ts';
import { anything, type Field, list, text, texts } from '../../worker/handlers/schema.ts';
import { isSecret, isSecretQuery, secretArgument } from './secrecy.ts';
import { problemOfTemplate } from './template.ts';

type Path = Parameters<Field<unknown>['read']>[1];
type Report = Parameters<Field<unknown>['read']>[2];

export const MOST_ARGUMENTS = 200;
const LONGEST = 32 * 1024;
const NO_SECRETS = 'must not have a secret: settings are shown and backed up, so name a variable that has it';
/** Of the signature, of the body and of the authorization. */
const OWN_HEADERS = /^(x-leasehold-.*|content-type|authorization|user-agent)$/i;
const RESERVED: ReadonlySet<string> = new Set(['LEASEHOLD_TICKET', 'LEASEHOLD_POOL']);

export function template(known: readonly string[], about?: string): Field<string, false> {
  return text({
    check: (given) => tooLong(given) ?? problemOfTemplate(given, known),
    ...(about === undefined ? {} : { about }),
  });
}

/** A text, or JSON with placeholders in its texts: within JSON in a text every quote would need another. */
export function textOrJson(known: readonly string[], about: string): Field<unknown, false> {
  const plain = template(known);
  const check = (value: unknown, at: Path, report: Report): void => {
    if (typeof value === 'string') plain.read(value, at, report);
    else if (Array.isArray(value)) value.forEach((one, i) => check(one, [...at, i], report));
    else if (typeof value === 'object' && value !== null) {
      for (const [key, one] of Object.entries(value)) {
        if (typeof one === 'string' && isSecret(key, one)) report([...at, key], NO_SECRETS);
        else check(one, [...at, key], report);
      }
    }
  };
  return {
    ...anything(about),
    read(value, at, report) {
      check(value, at, report);
      return value;
    },
  };
}

/** A program and its arguments. */
export function argv(known: readonly string[], about: string): Field<readonly string[], false> {
  const plain = list(template(known), { min: 1, about });
  return {
    ...plain,
    read(value, at, report) {
      const given = plain.read(value, at, report);
      const secret = given.every((one) => typeof one === 'string') ? secretArgument(given) : undefined;
      if (secret !== undefined) report([...at, secret], NO_SECRETS);
      return given;
    },
  };
}

/** Variables, whose values may have placeholders. */
export function variables(known: readonly string[], about: string): Field<Readonly<Record<string, string>>, false> {
  return texts({
    about,
    check(name, value) {
      if (!isVariable(name)) return 'is not the name of a variable';
      if (RESERVED.has(name)) return 'is set by the launcher';
      if (isSecret(name, value)) return NO_SECRETS;
      return tooLong(value) ?? problemOfTemplate(value, known);
    },
  });
}

/** Names of variables. */
export function variableNames(about: string): Field<readonly string[], false> {
  return list(text({ check: (name) => (isVariable(name) ? undefined : 'is not the name of a variable') }), { about });
}

/** The name of a secret of the process that launches. */
export function secretName(about: string): Field<string, false> {
  return text({
    minLength: 1,
    about,
    check: (name) => (isVariable(name) ? undefined : 'is not the name of a variable'),
  });
}

/** An address of http or https, without a password. */
export function webAddress(about: string): Field<string, false> {
  return text({ minLength: 1, about, check: (given) => tooLong(given) ?? checkUrl(given) ?? checkQuery(given) });
}

/** Headers whose values are secrets of the process that launches, by the names of their variables. */
export function secretHeaders(about: string): Field<Readonly<Record<string, string>>, false> {
  return texts({
    about,
    check(name, value) {
      if (OWN_HEADERS.test(name)) return 'is set by the launcher';
      return checkHeader(name, '') ?? (isVariable(value) ? undefined : 'must have the name of a variable');
    },
  });
}

export function headers(about: string): Field<Readonly<Record<string, string>>, false> {
  return texts({
    about,
    check(name, value) {
      if (OWN_HEADERS.test(name)) return 'is set by the launcher';
      if (isSecret(name, value)) return NO_SECRETS;
      return checkHeader(name, value);
    },
  });
}

/** The absolute path of a file. Plain, because ssh reads spaces, quotes and percents in paths as its own words. */
export function path(about: string): Field<string, false> {
  return text({
    about,
    check(given) {
      if (!given.startsWith('/')) return 'must be an absolute path';
      return /^[\w./@+=:,-]+$/.test(given)
        ? tooLong(given)
        : 'must have only letters, digits and any of . / @ + = : , - _';
    },
  });
}

function checkQuery(given: string): string | undefined {
  return isSecretQuery(new URL(given)) ? NO_SECRETS : undefined;
}

function isVariable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name);
}

function tooLong(given: string): string | undefined {
  return given.length > LONGEST ? `must not be longer than ${LONGEST} characters` : undefined;
}
