// Whether a text is of a class of lock: by its author's own file of texts, else by the plainly wrong.
import { serverOf, toolOf } from './world.mjs';

export const BY_USERS = ['disabled_by_user', 'pending_approval'];
export const OPEN = 'OPEN'; // it cannot be said

/** Whether a text plainly tells the user to lift the lock: the rule of convicting.json. */
export function tellsUser(text, { told, beside }) {
  const said = `.${text} `.toLowerCase().replace(/[.:;!]+/g, ' . ').replace(/[\s,]+/g, ' ');
  const phrases = told.flatMap(({ before, acts }) => (
    before.flatMap((start) => acts.map((act) => `${start} ${act}`))));
  const words = new Set([...phrases, ...beside].flatMap((phrase) => phrase.split(' ')));
  return phrases.some((phrase) => said.includes(` ${phrase} `))
    && said.trim().split(' ').every((word) => words.has(word));
}

/** The text with the names of the tool, if one is given, as `{server}` and `{tool}`. */
export const mask = (text, key) => (!key ? text : text.replaceAll(key, '{server}:{tool}')
  .replaceAll(toolOf(key), '{tool}').replaceAll(serverOf(key), '{server}'));

/** Whether a text, about that tool if one is given, is of one of these statuses; or OPEN. */
export function isOf(statuses, text, { texts, convicting }, key) {
  if (statuses.includes('disabled_by_config') && tellsUser(text, convicting)) return false;
  const classes = Object.keys(texts)
    .filter((status) => texts[status].some((own) => mask(own, key) === mask(text, key)));
  return classes.length ? classes.some((status) => statuses.includes(status)) : OPEN;
}
