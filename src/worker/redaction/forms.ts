import { SHORTEST_HIDDEN as SHORTEST } from '../../core/credential/value.ts';

/**
 * What a secret text may look like where it is repeated: as it is, as JSON and URLs write it, as hex, and as base64 wherever it begins within
 * what was encoded. A value of several lines also line by line, because logs are read by lines. Nothing shorter than eight characters.
 */
export function formsOf(secrets: Iterable<string>): ReadonlySet<string> {
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const part of new Set([secret, secret.trim(), ...linesOf(secret)])) {
      if (part.length < SHORTEST) continue;
      for (const form of [part, ...jsonForms(part), ...urlForms(part), ...hexForms(part), ...base64Forms(part)])
        if (form.length >= SHORTEST) forms.add(form);
    }
  }
  return forms;
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).flatMap((line) => [line, line.trim()]);
}

/** As JavaScript writes it, with slashes escaped, and in ASCII alone, as other languages do. */
function jsonForms(text: string): readonly string[] {
  const plain = JSON.stringify(text.toWellFormed()).slice(1, -1);
  const ascii = plain.replace(/[\u007f-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return [plain, ascii].flatMap((one) => [one, one.replaceAll('/', '\\/')]);
}

/** Programs differ in which characters they leave as they are, and in the case of the digits. */
function urlForms(text: string): readonly string[] {
  const component = encodeURIComponent(text.toWellFormed());
  const strict = component.replace(/[!'()*]/g, percent);
  const form = strict.replaceAll('%20', '+');
  const python = component.replaceAll('%2F', '/').replace(/[!'()*]/g, percent);
  return [component, strict, form, python, encodeURI(text.toWellFormed()), strict.replaceAll('~', '%7E')].flatMap(
    (one) => [one, one.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())],
  );
}

const percent = (one: string): string => `%${one.charCodeAt(0).toString(16).toUpperCase()}`;

function hexForms(text: string): readonly string[] {
  const hex = Buffer.from(text).toString('hex');
  return [hex, hex.toUpperCase()];
}

/** Three bytes are four characters: what stands before it decides which. The characters at its ends that others have a part in are left out. */
function base64Forms(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((shift) => {
    const whole = Buffer.concat([Buffer.alloc(shift), bytes]);
    const from = Math.ceil((shift * 8) / 6);
    const std = whole.toString('base64').slice(from, Math.floor((whole.length * 8) / 6));
    // With its last character and its end, where nothing follows it.
    const ended = whole.toString('base64').slice(from);
    const all = [std, ended.replace(/=+$/, ''), ended];
    return all.flatMap((one) => [one, one.replaceAll('+', '-').replaceAll('/', '_')]);
  });
}
