package access

import (
	"context"
	"errors"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/access"
	"nanobot/gateway/store"
	"nanobot/internal/role"
)

// CheckRole returns an error if a name is none of a role that people can be given.
func CheckRole(name string) error {
	if role.Valid(name) {
		return nil
	}
	return errors.New("must be guest, user, approver or owner")
}

// checkRoles returns an error if a stored role would have no effect.
func (o Options) checkRoles(as string) error {
	if as != "" && o.Config.Roles.People() == nil {
		return fmt.Errorf("--as has no effect without roles: name the owner in roles of %s first", o.Config.File())
	}
	return nil
}

// saveRole stores the role of a person, and prints and records that; "" changes nothing.
func (o Options) saveRole(ctx context.Context, s store.Store, who store.Person, as string) error {
	if err := o.checkRoles(as); as == "" || err != nil {
		return err
	}
	if err := s.SaveRecords(ctx, map[string]string{access.RoleRecord(who): as}); err != nil {
		return err
	}
	name := who.Channel + ":" + who.User
	o.Record("role "+as, store.Pairing{Channel: who.Channel, User: channels.User{ID: who.User}})
	if named := role.Of(o.Config.Roles.People(), name); named != role.None && string(named) != as {
		fmt.Fprintf(o.Err, "%s stays %s: roles.%[2]s of %s names them.\n", name, named, o.Config.File())
		return nil
	}
	fmt.Fprintf(o.Err, "%s has the role %s.\n", name, as)
	return nil
}

// forgetRole removes the stored role of a person who has lost access.
func forgetRole(ctx context.Context, s store.Store, who store.Person) error {
	return s.SaveRecords(ctx, map[string]string{access.RoleRecord(who): ""})
}
